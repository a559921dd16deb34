import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { TokenFile, tokenName } from '../../../apps/cli/stdio/token-file.ts';
import { emptyDesk } from './run.ts';
import { OWN_COMMAND } from '../../../apps/cli/own-command.ts';

const URL = 'http://127.0.0.1:4100/mcp';
const desk = emptyDesk();
const run = (...args: string[]) =>
  desk.run(['stdio', ...args], { env: { COUNTERSIGN_HOME: join(desk.folder, 'own') } });

describe('countersign stdio', () => {
  it.each([
    [['--url', 'x'], '--url takes an address, such as http://127.0.0.1:4100/mcp'],
    [['--url', 'http://a.example/mcp'], 'is not protected by TLS'],
    [['--url', 'https://ada:pw@a.example/mcp'], 'the address has a user name'],
    [['--port', '70000'], 'It is a number from 1 to 65535.'],
    [['--sign-in', '--sign-out'], "option '--sign-out' cannot be used with option '--sign-in'"],
  ])('refuses %j, says why, and writes nothing on stdout', async (args, words) => {
    const { code, out, err } = await run(...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(words);
    expect(err).not.toContain('pw');
  });

  it('has a help that names each way to sign in', async () => {
    const { code, out } = await run('--help');
    expect(code).toBe(0);
    for (const word of [
      '--sign-in',
      '--sign-out',
      '--no-browser',
      '--client-id',
      'COUNTERSIGN_TOKEN',
      'COUNTERSIGN_HOME',
    ]) {
      expect(out).toContain(word);
    }
  });

  it('knows that there is nothing to sign out of', async () => {
    expect(await run('--sign-out')).toMatchObject({ code: 0, out: 'You are not signed in.', err: '' });
  });

  it('opens no second browser for a relay if another sign-in has ended in between', async () => {
    const COUNTERSIGN_HOME = join(desk.folder, 'shared');
    const url = 'http://127.0.0.1:9/mcp';
    const tokens = { access_token: 'new', token_type: 'Bearer' };
    new TokenFile(url, { COUNTERSIGN_HOME }).write({ url, issuer: url, client: { client_id: 'x' }, tokens });
    const env = { COUNTERSIGN_HOME, BROWSER: 'false' };
    const replace = (token?: string) =>
      desk.run(['stdio', '--url', url, '--sign-in', '--replacing', tokenName(token)], { env });
    expect([await replace('old'), await replace()]).toMatchObject([
      { code: 0, err: '' },
      { code: 0, err: '' },
    ]);
    expect(await replace('new')).toMatchObject({ code: 1, err: expect.stringContaining('does not answer') });
  });

  it('ends before it serves a host if others could exchange its tokens', async () => {
    const folder = join(desk.folder, 'open', 'hosts');
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o777);
    const { code, out, err } = await desk.run(['stdio'], { env: { COUNTERSIGN_HOME: join(desk.folder, 'open') } });
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/hosts can be changed by others \(mode 777\)\. .*chmod 700/);
  });

  // Other systems open a browser without a display.
  const onLinux = process.platform === 'linux' ? it : it.skip;
  onLinux.each([
    [[], {}, ''],
    [['--client-id', 'a-client', '--port', '4199'], {}, ' --client-id a-client --port 4199'],
    // As in the entry of a host. A terminal does not have this variable.
    [[], { COUNTERSIGN_CLIENT_ID: 'a-client' }, ' --client-id a-client'],
  ])('says how to sign in where no browser can be opened, with %j and %j (needs Linux)', async (args, env, named) => {
    const { code, err } = await desk.run(['stdio', '--sign-in', ...args], {
      env: { COUNTERSIGN_HOME: join(desk.folder, 'own'), ...env },
    });
    expect(code).toBe(1);
    expect(err).toBe(
      `countersign: No browser can be opened from here. Sign in first, in a terminal: ${OWN_COMMAND} stdio --sign-in --url ${URL}${named}. Without a terminal, add --no-browser`,
    );
  });
});
