import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AccessDeps, Tried } from '../../../apps/cli/stdio/access.ts';
import { TokenFile } from '../../../apps/cli/stdio/token-file.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { accessOf } from '../../support/stdio-host.ts';
import { SignInDesk } from '../../support/stdio-sign-in.ts';
import { systemTime } from '../../support/time.ts';
import { waitFor } from '../../support/wait-for.ts';

const desk = new SignInDesk();
beforeAll(() => desk.start({ settings: { identity: { hosts: { registrationsPerMinute: 10_000 } } } }));
afterAll(() => desk.stop());

const UNAUTHORIZED = new Response('', { status: 401 });
const { signal } = new AbortController();
const asking = (tried: Tried = {}) => ({ isQuiet: false, signal, tried });

async function signedIn(): Promise<TokenFile> {
  const file = desk.newFile();
  await desk.signIn(file);
  return file;
}
const accessTo = (file: TokenFile, changes: Partial<AccessDeps> = {}) =>
  accessOf(file, { fetch: desk.fetch, ...changes });
const tokenIn = (file: TokenFile) => file.read()?.tokens?.access_token;

describe('an expired token', () => {
  it('is renewed once for twenty relays that find it at the same moment', async () => {
    const file = await signedIn();
    const old = tokenIn(file) ?? '';
    const before = desk.redeemed;
    const renewed = await Promise.all(
      Array.from({ length: 20 }, () => accessTo(file).after(UNAUTHORIZED, old, asking())),
    );
    expect(desk.redeemed - before).toBe(1);
    expect(new Set(renewed)).toEqual(new Set([tokenIn(file)]));
    expect(tokenIn(file)).not.toBe(old);
  });

  it('is renewed again and again, each time with the newest refresh token', async () => {
    const file = await signedIn();
    const access = accessTo(file);
    const seen = new Set<string | undefined>([tokenIn(file)]);
    for (let round = 0; round < 3; round += 1)
      seen.add(await access.after(UNAUTHORIZED, tokenIn(file) ?? '', asking()));
    expect(seen.size).toBe(4);
  });

  it('stays on record while the issuer is away, and the message names the issuer', async () => {
    const file = await signedIn();
    const before = file.read();
    const away = () => Promise.reject(new TypeError('fetch failed'));
    const attempt = accessTo(file, { fetch: away }).after(UNAUTHORIZED, tokenIn(file) ?? '', asking());
    await expect(attempt).rejects.toThrow(`The sign-in could not be renewed: ${desk.issuer.url} gives no good answer.`);
    expect(file.read()).toEqual(before);
  });

  it('is forgotten, and its client kept, when the sign-in has ended at the issuer', async () => {
    const file = await signedIn();
    const kept = file.read();
    if (kept?.tokens === undefined) throw new Error('no sign-in');
    file.write({ ...kept, tokens: { ...kept.tokens, refresh_token: 'used-up' } });
    await expect(accessTo(file).after(UNAUTHORIZED, kept.tokens.access_token, asking())).rejects.toThrow('no sign-in');
    expect(file.read()).toEqual({ ...kept, tokens: undefined });
  });

  it('is forgotten with its client, when the issuer does not know that', async () => {
    const file = await signedIn();
    const kept = file.read();
    if (kept?.tokens === undefined) throw new Error('no sign-in');
    file.write({ ...kept, client: { client_id: 'Host-unknown' } });
    await expect(accessTo(file).after(UNAUTHORIZED, kept.tokens.access_token, asking())).rejects.toThrow('no sign-in');
    expect(file.read()).toBeUndefined();
  });
});

describe('a request without a token', () => {
  it('waits for the person, and goes on with the token that appears', async () => {
    const file = desk.newFile();
    let starts = 0;
    const startSignIn = () => {
      starts += 1;
      return { ended: desk.signIn(file).then(() => undefined) };
    };
    const access = accessTo(file, { startSignIn });
    const tokens = await Promise.all([1, 2, 3].map(() => access.token(asking())));
    expect(new Set(tokens)).toEqual(new Set([tokenIn(file)]));
    expect(starts).toBe(1);
  });

  it('opens no second browser while another relay has one open', async () => {
    const file = desk.newFile();
    let starts = 0;
    const startSignIn = () => {
      starts += 1;
      return { ended: file.signInAlone(() => desk.signIn(file)).then(() => undefined) };
    };
    const tokens = await Promise.all(
      [1, 2].map(async (place) => {
        if (place === 2) await waitFor(() => file.isSigningIn());
        return accessTo(file, { startSignIn }).token(asking());
      }),
    );
    expect(new Set(tokens)).toEqual(new Set([tokenIn(file)]));
    expect(starts).toBe(1);
  });

  it('says what to run when no person comes in time', async () => {
    const clock = new ManualClock();
    const startSignIn = () => ({ ended: new Promise<undefined>(() => undefined) });
    const attempt = accessTo(desk.newFile(), { clock, startSignIn }).token(asking());
    attempt.catch(() => undefined);
    await clock.advance(systemTime.limits.hostSignInMs + 1_000);
    await expect(attempt).rejects.toThrow(
      'Sign in first: a browser window was opened for it. If there is none: To sign in, run this in a terminal: npx countersign stdio --sign-in',
    );
  });

  it('passes on why the sign-in failed', async () => {
    await expect(accessTo(desk.newFile()).token(asking())).rejects.toThrow('no sign-in in this test');
  });

  it('that no person waits for opens no browser', async () => {
    const startSignIn = () => {
      throw new Error('a browser');
    };
    const access = accessTo(desk.newFile(), { startSignIn });
    await expect(access.token({ ...asking(), isQuiet: true })).rejects.toThrow(/To sign in, run/);
  });
});

describe('a token that the gateway refuses right after the sign-in', () => {
  it('leads to one sign-in and no more, until there is another token', async () => {
    const file = await signedIn();
    let starts = 0;
    const startSignIn = () => {
      starts += 1;
      return { ended: desk.signIn(file).then(() => undefined) };
    };
    const access = accessTo(file, { startSignIn });
    const tried: Tried = {};
    let token = await access.token(asking());
    for (let round = 0; round < 2; round += 1) token = (await access.after(UNAUTHORIZED, token, asking(tried))) ?? '';
    await expect(access.after(UNAUTHORIZED, token, asking(tried))).rejects.toThrow(/refuses the token.*doctor/);
    await expect(access.token(asking())).rejects.toThrow(/refuses the token/);
    expect(starts).toBe(1);
    await desk.signIn(file);
    expect(await access.token(asking())).toBe(tokenIn(file));
  });

  it('of COUNTERSIGN_TOKEN is not replaced', async () => {
    const access = accessTo(desk.newFile(), { given: 'given' });
    expect(await access.token(asking())).toBe('given');
    await expect(access.after(UNAUTHORIZED, 'given', asking())).rejects.toThrow(
      /the token in COUNTERSIGN_TOKEN\. Set a new one/,
    );
  });
});

describe('a call that needs more scopes', () => {
  const challenge = (scope: string) =>
    new Response('', {
      status: 403,
      headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
    });

  it('asks the person once for all of them, and not for those that were asked for before', async () => {
    const file = await signedIn();
    const asked: unknown[] = [];
    const startSignIn = (scope: string | undefined, replaced: string | undefined) => {
      asked.push([scope, replaced]);
      return { ended: desk.signIn(file, undefined, { scope }).then(() => undefined) };
    };
    const access = accessTo(file, { startSignIn });
    const used = tokenIn(file) ?? '';
    const token = await access.after(challenge('mcp files:write'), used, asking());
    expect(token).toBe(tokenIn(file));
    expect(asked).toEqual([['mcp files:write', used]]);
    const again = access.after(challenge('mcp files:write'), token ?? '', asking());
    await expect(again).rejects.toThrow(
      'The token lacks a scope that this request needs: mcp files:write. Ask the operator of the issuer for it.',
    );
    expect(await access.after(new Response('', { status: 403 }), token ?? '', asking())).toBeUndefined();
    expect(asked).toHaveLength(1);
  });
});

describe('a file of tokens', () => {
  const asRoot = process.getuid?.() === 0 ? it : it.skip;
  /** Each of these makes the relay send nothing. */
  async function isRefused(file: TokenFile, words: RegExp): Promise<void> {
    const { length } = desk.asked;
    await expect(accessTo(file).token(asking())).rejects.toThrow(words);
    expect(desk.asked).toHaveLength(length);
  }

  it('that others can read is refused', async () => {
    const file = await signedIn();
    chmodSync(file.path, 0o644);
    await isRefused(file, /\.json can be read by others \(mode 644\)\. Delete it and sign in again\.$/);
  });

  it('that is a symbolic link is refused', async () => {
    const file = await signedIn();
    renameSync(file.path, `${file.path}.real`);
    symlinkSync(`${file.path}.real`, file.path);
    await isRefused(file, /\.json is a symbolic link\. Delete it and sign in again\.$/);
  });

  it('in a folder that others can change is refused', async () => {
    const file = await signedIn();
    chmodSync(dirname(file.path), 0o777);
    await isRefused(file, /hosts can be changed by others \(mode 777\)\. Set COUNTERSIGN_HOME .* chmod 700 /);
  });

  it('that is damaged is refused', async () => {
    const file = await signedIn();
    writeFileSync(file.path, '{"url":"x"}', { mode: 0o600 });
    await isRefused(file, /\.json is damaged\. Delete it and sign in again\.$/);
  });

  asRoot('of another user is refused, and another user cannot read it (needs root)', async () => {
    const file = await signedIn();
    const { status } = spawnSync('cat', [file.path], { uid: 65_534, gid: 65_534 });
    expect(status).not.toBe(0);
    chownSync(file.path, 65_534, 65_534);
    await isRefused(file, /\.json belongs to another user\. Delete it and sign in again\.$/);
  });

  it('is one for each address, and one for each client that was named', () => {
    const variables = { COUNTERSIGN_HOME: '/h' };
    const files = [
      new TokenFile('https://a.example/mcp', variables),
      new TokenFile('https://b.example/mcp', variables),
      new TokenFile('https://a.example/mcp', variables, 'one'),
    ];
    expect(new Set(files.map(({ path }) => path)).size).toBe(3);
    expect(new TokenFile('https://a.example/mcp', { HOME: '/home/ada' }).path).toMatch(
      /^\/home\/ada\/\.countersign\/hosts\/[0-9a-f]{16}\.json$/,
    );
  });
});
