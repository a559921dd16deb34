import { writeFileSync, readFileSync, appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { startChangingUpstream } from '../../support/changing-upstream.ts';
import { PATIENT_FACTOR } from '../../support/time.ts';
import { Desk, emptyDesk } from './run.ts';

const SMALL = [process.execPath, packagePath('test', 'clients', 'fixtures', 'crashing-server.mjs')];
const SECRET = `ghp_${'x9'.repeat(18)}`;

let bank!: Awaited<ReturnType<typeof startChangingUpstream>>;
beforeAll(async () => {
  bank = await startChangingUpstream({ description: 'Pays.', properties: {}, annotations: {} });
});
afterAll(() => bank.close());

const PATIENT = `timeLimitFactor: ${PATIENT_FACTOR}\n`;
const NO_SERVERS = `mcpServers: {}\n${PATIENT}`;
/** A desk with the file that `init` writes, and patient limits in it. */
async function newDesk(): Promise<Desk> {
  const desk = emptyDesk();
  await desk.run(['init', '--yes']);
  appendFileSync(join(desk.folder, 'countersign.yaml'), PATIENT);
  return desk;
}
const textOf = (desk: Desk) => readFileSync(join(desk.folder, 'countersign.yaml'), 'utf8');

describe('countersign add, with secrets', () => {
  it('writes the name of the variable, and says nothing if the variable is set', async () => {
    const desk = emptyDesk();
    const { code, out } = await desk.run(['add', 'every', '--env', 'MY_TOKEN', '--yes', '--', ...SMALL], {
      env: { MY_TOKEN: SECRET },
    });
    expect(code).toBe(0);
    expect(out).not.toContain('export');
    expect(parse(textOf(desk)).mcpServers.every.env).toEqual({ MY_TOKEN: '${MY_TOKEN}' });
  });

  it('takes a program from the file of a host, without its secret', async () => {
    const desk = emptyDesk();
    const [command, ...args] = SMALL;
    const entry = { command, args, env: { API_TOKEN: SECRET, MODE: 'plain' }, autoApprove: ['echo'] };
    writeFileSync(join(desk.folder, '.mcp.json'), JSON.stringify({ mcpServers: { every: entry } }));
    const { code, out, err } = await desk.run(['add', '--from', '.mcp.json', '--yes']);
    expect(code).toBe(0);
    expect(err).toContain('autoApprove: it is ignored');
    expect(out).toContain('  export API_TOKEN=…');
    expect(out + err + textOf(desk)).not.toContain(SECRET);
    expect(parse(textOf(desk)).mcpServers.every).toEqual({
      command,
      args,
      env: { API_TOKEN: '${API_TOKEN}', MODE: 'plain' },
    });
  });

  it.each([
    ['mcp.json', (entry: object) => `{ // VS Code\n"servers": { "every": ${JSON.stringify(entry)}, }, }`],
    ['settings.json', (entry: object) => JSON.stringify({ context_servers: { every: entry } })],
  ])('takes a server from %s, without its secret', async (name, text) => {
    const desk = await newDesk();
    const entry = { type: 'http', url: bank.url, headers: { Authorization: `Bearer ${SECRET}` } };
    writeFileSync(join(desk.folder, name), text(entry));
    const { code, out, err } = await desk.run(['add', '--from', name, '--yes']);
    expect(code).toBe(0);
    expect(out).toContain('  export EVERY_TOKEN=…');
    expect(out + err + textOf(desk)).not.toContain(SECRET);
    expect(parse(textOf(desk)).mcpServers.every).toEqual({
      url: bank.url,
      headers: { Authorization: 'Bearer ${EVERY_TOKEN}' },
    });
  });

  it('gives servers with a variable of one name a variable each, which nothing else uses', async () => {
    const desk = new Desk(`${NO_SERVERS}audit: { clientId: "\${ACCOUNT_KEY:-audit}" }\n`);
    const [command, ...args] = SMALL;
    const entry = (API_TOKEN: string) => ({ command, args, env: { API_TOKEN, ACCOUNT_KEY: 'k1', SESSION_KEY: 'k2' } });
    const servers = { one: entry('first-1'), two: entry('second-2') };
    writeFileSync(join(desk.folder, 'h.json'), JSON.stringify({ mcpServers: servers }));
    const { code, out } = await desk.run(['add', '--from', 'h.json', '--yes'], { env: { SESSION_KEY: 'mine' } });
    expect(code).toBe(0);
    expect(parse(textOf(desk)).mcpServers).toMatchObject({
      one: { env: { API_TOKEN: '${API_TOKEN}', ACCOUNT_KEY: '${ONE_ACCOUNT_KEY}', SESSION_KEY: '${ONE_SESSION_KEY}' } },
      two: {
        env: { API_TOKEN: '${TWO_API_TOKEN}', ACCOUNT_KEY: '${TWO_ACCOUNT_KEY}', SESSION_KEY: '${TWO_SESSION_KEY}' },
      },
    });
    const exported = [...out.matchAll(/export (\w+)/g)].map(([, name]) => name);
    const [one, two] = ['ONE', 'TWO'].map((label) => [`${label}_ACCOUNT_KEY`, `${label}_SESSION_KEY`]);
    expect(exported).toEqual(['API_TOKEN', ...(one ?? []), 'TWO_API_TOKEN', ...(two ?? [])]);
  });

  it('takes one server by its name, and no Countersign', async () => {
    const desk = await newDesk();
    const servers = {
      mine: { type: 'http', url: bank.url },
      other: { command: 'x' },
      countersign: { type: 'http', url: 'http://127.0.0.1:4100/mcp' },
    };
    writeFileSync(join(desk.folder, 'h.json'), JSON.stringify({ mcpServers: servers }));
    expect((await desk.run(['add', 'mine', '--from', 'h.json', '--yes'])).code).toBe(0);
    expect(Object.keys(parse(textOf(desk)).mcpServers)).toEqual(['mine']);
    expect(await desk.run(['add', 'countersign', '--from', 'h.json', '--yes'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('it is Countersign itself'),
    });
    expect(await desk.run(['add', 'none', '--from', 'h.json', '--yes'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('it has mine, other, countersign'),
    });
  });

  it('reads a token from a file at each use', async () => {
    const desk = await newDesk();
    writeFileSync(join(desk.folder, 'token'), `${SECRET}\n`);
    const { code } = await desk.run(['add', 'bank', '--url', bank.url, '--token-file', 'token', '--yes']);
    expect(code).toBe(0);
    expect(parse(textOf(desk)).mcpServers.bank.headers).toEqual({
      Authorization: { file: join(desk.folder, 'token'), scheme: 'Bearer' },
    });
  });
});
