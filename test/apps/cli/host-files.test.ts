import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readEnvironment } from '../../../apps/shared/config/env.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { loadConfig } from '../../../apps/shared/config/load.ts';
import { Desk, emptyDesk } from './run.ts';

const SMALL = [process.execPath, packagePath('test', 'clients', 'fixtures', 'crashing-server.mjs')];
const [command, ...args] = SMALL;

const ENCODINGS: Readonly<Record<string, (text: string) => Buffer>> = {
  'UTF-8 with a mark': (text) => Buffer.from(`\ufeff${text}`),
  'UTF-16 little-endian': (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  'UTF-16 big-endian': (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
};

describe('a file in another encoding', () => {
  it.each(Object.entries(ENCODINGS))('of a host is read: %s', async (_name, encode) => {
    const desk = emptyDesk();
    const text = `{ // Müller\r\n"servers": { "every": { "command": ${JSON.stringify(command)}, "args": ${JSON.stringify(args)} }, }, }`;
    writeFileSync(join(desk.folder, 'mcp.json'), encode(text));
    const { code, err } = await desk.run(['add', '--from', 'mcp.json', '--yes']);
    expect([code, err]).toEqual([0, expect.stringContaining('every__')]);
  });

  it.each(Object.entries(ENCODINGS))('of a host keeps its encoding when it is connected: %s', async (_name, encode) => {
    const desk = new Desk({});
    mkdirSync(join(desk.folder, '.vscode'));
    const file = join(desk.folder, '.vscode', 'mcp.json');
    writeFileSync(file, encode('{\n  "servers": {} // Müller\n}\n'));
    const { code } = await desk.run(['connect', 'vscode', '--project', '--yes']);
    expect(code).toBe(0);
    const entry = '"countersign": {\n      "type": "http",\n      "url": "http://127.0.0.1:4100/mcp"\n    }';
    expect(readFileSync(file)).toEqual(encode(`{\n  "servers": {\n    ${entry}\n  } // Müller\n}\n`));
  });

  it.each(Object.entries(ENCODINGS))('is read wherever a person writes one: %s', async (_name, encode) => {
    const desk = new Desk('');
    const policies = join(desk.folder, 'policies');
    mkdirSync(policies);
    for (const name of ['protocol.cedar', 'schema.cedarschema', 'entities.json'])
      writeFileSync(join(policies, name), encode(readFileSync(packagePath('policies', name), 'utf8')));
    const people = {
      Resources: [{ schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'], id: '1', userName: 'jörg' }],
    };
    writeFileSync(join(desk.folder, 'people.json'), encode(JSON.stringify(people)));
    const settings = ['directory: { file: people.json }', 'pdp: { policies: ./policies }', ''].join('\n');
    writeFileSync(join(desk.folder, 'countersign.yaml'), encode(settings));
    const { code, out, err } = await desk.run(['policy', 'check']);
    expect([code, out, err]).toEqual([0, expect.any(String), '']);
  });
});

describe('settings of hosts', () => {
  it('mean the home of the user and the folder of the project', async () => {
    const desk = emptyDesk();
    const env = { A: '${userHome}/x', B: '${workspaceFolder}/y', C: '${workspaceFolderBasename}' };
    writeFileSync(join(desk.folder, 'mcp.json'), JSON.stringify({ servers: { every: { command, args, env } } }));
    const { code, out } = await desk.run(['add', '--from', 'mcp.json', '--yes'], { env: { HOME: '/home/me' } });
    expect([code, out]).toEqual([0, expect.not.stringContaining('export')]);
    const environment = readEnvironment({ HOME: '/home/me' });
    const { every } = loadConfig({ environment, cwd: desk.folder }).config.mcpServers;
    expect(every).toMatchObject({ env: { A: '/home/me/x', B: `${desk.folder}/y`, C: basename(desk.folder) } });
  });

  const failing = async (server: object, env = {}) => {
    const desk = emptyDesk();
    writeFileSync(join(desk.folder, 'h.json'), JSON.stringify({ mcpServers: { bad: server } }));
    return (await desk.run(['add', '--from', 'h.json', '--yes'], { env })).err;
  };

  it('say which folder is missing', async () => {
    expect(await failing({ command, args, cwd: '/no/such/folder' })).toMatch(
      /its folder \/no\/such\/folder \(cwd\) does not exist/,
    );
    expect(await failing({ command, args, cwd: '~' })).toMatch(/its folder ~ \(cwd\) does not exist/);
  });

  it('say that arguments do not belong into the command', async () => {
    const said = await failing({ command: 'node server.mjs --token hunter2' });
    expect(said).toMatch(/put only node into command, and each argument into args/);
    expect(said).not.toContain('hunter2');
  });

  it.each([
    ['/sse', 'older HTTP\\+SSE transport'],
    ['/mcp', 'a page for browsers. It is no MCP endpoint'],
  ])('say what a server is that has no MCP endpoint at %s', async (path, said) => {
    const server = createServer((_request, response) => {
      response
        .writeHead(404, { 'content-type': 'text/html' })
        .end('<!DOCTYPE html><html><body>Cannot POST</body></html>');
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const told = await failing({ url: `http://127.0.0.1:${port}${path}` });
    server.close();
    expect(told).toMatch(new RegExp(said));
    expect(told).not.toContain('<html');
  });
});

describe('a file with several servers', () => {
  const SERVERS = {
    good: { command, args },
    better: { command, args, env: { API_TOKEN: 'a-secret-1' } },
    known: { command: 'x' },
    missing: { command: 'no-such-program', env: { OTHER_TOKEN: 'a-secret-2' } },
    hidden: { command, args, disabledTools: ['x'] },
    unset: { command, args, env: { KEY: '${NO_SUCH}' } },
    'bad name!': { command, args, cwd: 5 },
  };
  const KNOWN = 'mcpServers:\n  known: { command: y, disabled: true }\n';

  it('gives those that can be used, and says of each other why it is left out', async () => {
    const desk = new Desk(KNOWN);
    writeFileSync(join(desk.folder, 'h.json'), JSON.stringify({ mcpServers: SERVERS }));
    const { code, err, out } = await desk.run(['add', '--from', 'h.json', '--yes']);
    expect(code).toBe(0);
    for (const said of [
      'left out known: known is in countersign.yaml:2 already',
      'left out missing: missing cannot be used: .*ENOENT',
      'left out h.json: mcpServers.hidden.disabledTools: ',
      'left out unset: unset: the variable NO_SUCH is not set',
      'left out bad-name: .*put it in quotes',
    ])
      expect(err).toMatch(new RegExp(`^note: ${said}`, 'm'));
    const { mcpServers, rules } = parse(readFileSync(join(desk.folder, 'countersign.yaml'), 'utf8'));
    expect(Object.keys(mcpServers)).toEqual(['known', 'good', 'better']);
    expect(JSON.stringify(rules)).not.toMatch(/missing|hidden|unset|bad/);
    expect(out).toMatch(/export API_TOKEN=…(?!.*OTHER_TOKEN)/s);
  });

  it('changes nothing if none can be used, or if the one that is named cannot', async () => {
    const desk = new Desk(KNOWN);
    const { good: _good, better: _better, ...others } = SERVERS;
    writeFileSync(join(desk.folder, 'h.json'), JSON.stringify({ mcpServers: others }));
    for (const one of [[], ['missing'], ['hidden'], ['unset'], ['known']]) {
      const { code, err } = await desk.run(['add', ...one, '--from', 'h.json', '--yes']);
      expect([one, code, err === '']).toEqual([one, 1, false]);
      expect(readFileSync(join(desk.folder, 'countersign.yaml'), 'utf8')).toBe(KNOWN);
    }
  });
});

describe('a server whose variable is not set', () => {
  it('stops no command for the others', async () => {
    const desk = new Desk({
      mcpServers: { away: { url: '${NO_SUCH}/mcp' }, every: { command, args } },
      rules: [{ allow: { server: 'away', tool: 'x' } }],
    });
    const lint = await desk.run(['lint']);
    expect(lint.out).toMatch(/^every__/m);
    expect(lint.out).toMatch(/mcpServers.away.url: the variable NO_SUCH is not set/);
    expect((await desk.run(['add', 'more', '--yes', '--', ...SMALL])).code).toBe(0);
    expect((await desk.run(['policy', 'explain', '--tool', 'away__x', '--client', 'c'])).out).toMatch(/permitted/);
    const doctor = await desk.run(['doctor']);
    expect(doctor.out).toMatch(/away.*the variable NO_SUCH is not set/);
  });
});

describe('a link in a folder that a stranger made', () => {
  it.each<[string, string[], (desk: Desk) => [link: string, to: string]]>([
    ['file', ['connect', 'claude-code', '--project', '--yes'], (desk) => [join(desk.folder, '.mcp.json'), 'mine.json']],
    ['folder', ['connect', 'vscode', '--project', '--yes'], (desk) => [join(desk.folder, '.vscode'), '.']],
    [
      'configuration',
      ['add', 'every', '--yes', '--', ...SMALL],
      (desk) => [join(desk.folder, 'countersign.yaml'), 'mine.json'],
    ],
  ])('leads no command out of it: a %s', async (_what, line, spoil) => {
    const [desk, home] = [emptyDesk(), emptyDesk().folder];
    for (const name of ['mine.json', 'mcp.json']) writeFileSync(join(home, name), '{}');
    const [link, to] = spoil(desk);
    symlinkSync(join(home, to), link);
    const { code, err } = await desk.run(line, { env: { HOME: home } });
    expect([code, err]).toEqual([1, expect.stringMatching(/is a link that leads out of .*nothing was written/)]);
    expect(readdirSync(home).map((name) => readFileSync(join(home, name), 'utf8'))).toEqual(['{}', '{}']);
  });

  it('may stay in it, and a file that its user names may be a link', async () => {
    const [desk, other] = [emptyDesk(), emptyDesk().folder];
    writeFileSync(join(desk.folder, 'real.json'), '{}');
    symlinkSync('real.json', join(desk.folder, '.mcp.json'));
    expect(
      (await desk.run(['connect', 'claude-code', '--project', '--yes', '--url', 'http://127.0.0.1:4100/mcp'])).code,
    ).toBe(0);
    writeFileSync(join(other, 'c.yaml'), 'mcpServers: {}\n');
    symlinkSync(join(other, 'c.yaml'), join(desk.folder, 'linked.yaml'));
    expect((await desk.run(['--config', 'linked.yaml', 'add', 'every', '--yes', '--', ...SMALL])).code).toBe(0);
    expect(readFileSync(join(other, 'c.yaml'), 'utf8')).toContain('every:');
  });
});
