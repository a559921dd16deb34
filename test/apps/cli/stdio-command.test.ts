import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { emptyDesk } from './run.ts';

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
  onLinux('says how to sign in where no browser can be opened (needs Linux)', async () => {
    const { code, err } = await run('--sign-in');
    expect(code).toBe(1);
    expect(err).toBe(
      `countersign: No browser can be opened from here. Sign in first, in a terminal: npx countersign stdio --sign-in --url ${URL}`,
    );
  });
});
