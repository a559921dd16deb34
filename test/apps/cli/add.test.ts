import { appendFileSync, chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { createDescriptionStore } from '../../../activities/stores/accepted-descriptions.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { startChangingUpstream } from '../../support/changing-upstream.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { PATIENT_FACTOR } from '../../support/time.ts';
import { Desk, emptyDesk } from './run.ts';
import { OWN_COMMAND } from '../../../apps/cli/own-command.ts';

const fileServer = packagePath('node_modules', '@modelcontextprotocol', 'server-filesystem', 'dist', 'index.js');
const FILES = [process.execPath, fileServer, '/tmp'];
/** This starts in a fraction of its time. */
const fixture = (name: string) => packagePath('test', 'clients', 'fixtures', name);
const LISTING = [process.execPath, fixture('listing-server.mjs')];
const SECRET = `ghp_${'x9'.repeat(18)}`;

let bank!: Awaited<ReturnType<typeof startChangingUpstream>>;
beforeAll(async () => {
  bank = await startChangingUpstream({ description: 'Pays.', properties: {}, annotations: {} });
});
afterAll(() => bank.close());

const PATIENT = `timeLimitFactor: ${PATIENT_FACTOR}\n`;
const NO_SERVERS = `mcpServers: {}\n${PATIENT}`;
/** A desk with the file that `init` writes, and patient limits in it. */
async function newDesk(...options: string[]): Promise<Desk> {
  const desk = emptyDesk();
  await desk.run(['init', '--yes', ...options]);
  appendFileSync(join(desk.folder, 'countersign.yaml'), PATIENT);
  return desk;
}
const textOf = (desk: Desk) => readFileSync(join(desk.folder, 'countersign.yaml'), 'utf8');

describe('countersign add, with a command', () => {
  it('writes a first configuration if there is none', async () => {
    const [desk, other] = [emptyDesk(), emptyDesk()];
    const add = ['add', 'desk', '--yes', '--', ...LISTING, '{}'];
    expect(await desk.run(add)).toMatchObject({ code: 0 });
    await other.run(['init', '--yes']);
    await other.run(add);
    expect(textOf(desk)).toBe(textOf(other));
    expect(parse(textOf(desk)).mcpServers).toEqual({ desk: { command: process.execPath, args: add.slice(5) } });
  });

  it('writes a configuration in which reading passes and everything else needs an approval', async () => {
    const desk = await newDesk();
    const { code, out, err } = await desk.run(['add', 'files', '--yes', '--', ...FILES]);
    expect(code).toBe(0);
    expect(err).toMatch(/^Connecting to files\. This can take a minute …\n/);
    expect(err).toMatch(
      /^files__read_text_file +reads only.* read +allow +it only reads and stays inside, as its server says +Read the complete/m,
    );
    expect(err).toMatch(/^files__write_file +changes things, destroys.* delete +approve +it destroys/m);
    expect(out).toContain('signature.pinning: first-seen');
    expect(out).toContain(`Next: \`${OWN_COMMAND} up\``);
    const { mcpServers, tools, rules } = parse(textOf(desk));
    expect(mcpServers).toEqual({ files: { command: process.execPath, args: FILES.slice(1) } });
    expect(tools).toMatchObject({
      files__read_text_file: { effect: 'read' },
      files__write_file: { effect: 'delete', requiresConfirmation: true },
    });
    expect(rules).toHaveLength(2);
    const explain = async (tool: string) =>
      (await desk.run(['policy', 'explain', '--tool', tool, '--client', 'x'])).out;
    expect(await explain('files__read_text_file')).toMatch(/^decision {2}permitted/);
    expect(await explain('files__write_file')).toMatch(/^decision {2}denied, until an approver approves/);
    // A tool that the server adds later has no rule.
    expect(await explain('files__read_secrets')).toMatch(/^decision {2}denied, and no approval/);
    const lint = await desk.run(['lint', '--json']);
    expect({ code: lint.code, findings: JSON.parse(lint.out).findings }).toEqual({ code: 0, findings: [] });
  });

  it('says so if a server gets a folder with the keys of Countersign', async () => {
    const desk = emptyDesk();
    const added = async (folder: string) =>
      (await desk.run(['add', 'files', '--print', '--', ...LISTING, '{}', folder])).err;
    expect(await added(desk.folder)).toContain(
      `note: files gets the folder ${desk.folder}, which contains ${desk.stateDir}`,
    );
    expect(await added('/tmp/..')).toContain('name another one');
    expect(await added(packagePath('docs'))).not.toContain('note:');
  });

  it('adds a second server, and leaves every line of the file as it was', async () => {
    const desk = new Desk(
      '# mine\nmcpServers:\n    old: { command: "x", disabled: true }   # off\nhost:   127.0.0.1\n',
    );
    const every = [...LISTING, JSON.stringify({ prompts: ['ask'], resources: ['desk://1'] })];
    const { code, err } = await desk.run(['add', 'every', '--env', 'LEVEL=debug', '--yes', '--', ...every]);
    expect([code, err.includes('every also lists')]).toEqual([0, true]);
    const text = textOf(desk);
    for (const line of ['# mine', '    old: { command: "x", disabled: true }   # off', 'host:   127.0.0.1'])
      expect(text.split('\n')).toContain(line);
    expect(parse(text).mcpServers.every.env).toEqual({ LEVEL: 'debug' });
  });

  it('shows the change at a terminal, and writes nothing without a yes', async () => {
    const desk = new Desk(NO_SERVERS);
    const { code, err, questions } = await desk.run(['add', 'bank', '--url', bank.url], { answer: 'n' });
    expect([code, questions]).toEqual([1, [expect.stringContaining('Write this to countersign.yaml?')]]);
    expect(err).toContain('+   bank:');
    expect(textOf(desk)).toBe(NO_SERVERS);
  });

  it('prints the change with --print, and writes nothing', async () => {
    const desk = emptyDesk();
    const { code, out } = await desk.run(['add', 'bank', '--print', '--', ...LISTING, '{}']);
    expect(code).toBe(0);
    expect(out).toContain('+   bank:');
    expect(existsSync(join(desk.folder, 'countersign.yaml'))).toBe(false);
  });

  it('says the same to programs', async () => {
    const { out, err } = await (await newDesk()).run(['add', 'bank', '--url', bank.url, '--yes', '--json']);
    expect(err).toBe('');
    expect(JSON.parse(out)).toMatchObject({
      written: true,
      servers: ['bank'],
      descriptions: 'accepted when first seen',
    });
    expect(JSON.parse(out).tools).toContainEqual(expect.objectContaining({ name: 'bank__pay', rule: 'approve' }));
  });

  it('keeps the mode of the file', async () => {
    const desk = new Desk(NO_SERVERS);
    chmodSync(join(desk.folder, 'countersign.yaml'), 0o600);
    await desk.run(['add', 'bank', '--url', bank.url, '--yes']);
    expect(statSync(join(desk.folder, 'countersign.yaml')).mode & 0o777).toBe(0o600);
  });

  it('keeps a policy folder that counts without being named', async () => {
    const desk = await newDesk('--policies');
    const text = textOf(desk)
      .replace(/\npdp:\n.*\n/, '')
      .replace('rules: []\n', '');
    writeFileSync(join(desk.folder, 'countersign.yaml'), text);
    await desk.run(['add', 'bank', '--url', bank.url, '--yes']);
    expect(parse(textOf(desk)).pdp).toEqual({ policies: './policies' });
  });
});

describe('countersign add, with a running database', () => {
  let db!: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  it('accepts the descriptions that it showed, and a tool that says nothing waits for an approval', async () => {
    const desk = await newDesk();
    const { code, out, err } = await desk.run(['add', 'bank', '--url', bank.url, '--yes'], {
      env: { DATABASE_URL: db.url },
    });
    expect(code).toBe(0);
    expect(err).toMatch(/^bank__pay +nothing +- +approve +its server does not say that it only reads +Pays\.$/m);
    expect(out).toContain('The descriptions above are accepted');
    expect((await createDescriptionStore(db.pool).all()).map(({ name }) => name)).toEqual(['bank__pay']);
    expect(parse(textOf(desk))).toMatchObject({
      tools: {},
      rules: [{ name: 'bank changes', approve: { server: 'bank', tool: ['pay'] } }],
    });
  });
});

describe('countersign add, when it cannot', () => {
  const KNOWN = 'mcpServers:\n  files: { command: x, disabled: true }\n  used: { command: x }\n';

  it.each([
    [['add', 'files', '--url', 'http://127.0.0.1:1/mcp', '--yes'], 1, 'files is in countersign.yaml:2 already'],
    [
      ['add', 'away', '--url', 'http://127.0.0.1:1/mcp', '--yes'],
      1,
      'away cannot be used: .*ECONNREFUSED.*check the address',
    ],
    [['add', 'bad', '--yes', '--', 'no-such-program'], 1, 'bad cannot be used: .*ENOENT.*start the program by hand'],
    [['add', 'used', '--url', 'http://x.example', '--yes'], 1, 'used is in countersign.yaml:3 already'],
    [['add', 'a__b', '--url', 'http://x.example', '--yes'], 1, 'a__b: is not a valid name'],
    [['add', 'a', '--url', 'nonsense', '--yes'], 1, 'url: '],
    [
      ['add', 'a', '--url', 'http://x.example', '--token-env', 'NOT_SET', '--yes'],
      1,
      'the variable NOT_SET is not set',
    ],
    [
      ['add', 'a', '--url', 'http://x.example', '--token-env', SECRET.replace('_', '-'), '--yes'],
      2,
      'not the token itself',
    ],
    [['add', 'a', '--url', 'http://x.example', '--header', 'x', '--yes'], 2, '--header takes'],
    [['add', 'a', '--url', 'http://x.example', '--env', 'A', '--yes'], 2, '--env and --work-dir are for a command'],
    [['add', 'a', '--header', 'A: b', '--yes', '--', 'x'], 2, 'use --env with a command'],
    [['add', 'a', '--yes'], 2, 'name one source'],
    [['add', 'a', '--url', 'http://x.example'], 2, 'add --yes to write, or --print'],
    [['add', '--from', 'none.json', '--yes'], 1, 'there is no such file; name the file'],
    [['add', 'a', 'npx', '-y', 'a-server', '--yes'], 2, "unknown option '-y'[^]*Put -- before the program"],
  ])('changes nothing, and says what to do: %j', async (args, exit, said) => {
    const desk = new Desk(KNOWN);
    const { code, err } = await desk.run(args);
    expect(err).toMatch(new RegExp(said));
    expect(code).toBe(exit);
    expect(textOf(desk)).toBe(KNOWN);
  });

  it('quotes nothing of a broken file of a host', async () => {
    const desk = new Desk(KNOWN);
    for (const [name, text] of [
      ['a.json', `{ "mcpServers": { "a": "${SECRET}" `],
      ['a.toml', `a = "${SECRET}`],
    ] as const) {
      writeFileSync(join(desk.folder, name), text);
      const { code, err } = await desk.run(['add', '--from', name, '--yes']);
      expect(code).toBe(1);
      expect(err).not.toContain(SECRET);
    }
  });
});
