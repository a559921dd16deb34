import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issuerFetch } from '../../../apps/cli/stdio/issuer-fetch.ts';
import { signOut } from '../../../apps/cli/stdio/sign-out.ts';
import type { SignedIn, TokenFile } from '../../../apps/cli/stdio/token-file.ts';
import { serve } from '../../support/serve.ts';
import { accessOf } from '../../support/stdio-host.ts';
import { SignInDesk } from '../../support/stdio-sign-in.ts';
import { systemTime } from '../../support/time.ts';

const desk = new SignInDesk();
beforeAll(() => desk.start());
afterAll(() => desk.stop());

/** A person who has signed in. */
async function signedIn(): Promise<{ file: TokenFile; kept: SignedIn }> {
  const file = desk.newFile();
  await desk.signIn(file);
  const kept = file.read();
  if (kept?.tokens === undefined) throw new Error('no sign-in');
  return { file, kept };
}

describe('the tokens of a refresh', () => {
  it('follow no redirect of the token endpoint', async () => {
    const came: string[] = [];
    const other = await serve((request, response) => {
      came.push(request.url ?? '');
      response.end();
    });
    const issuer = await serve((request, response) => {
      if (request.method === 'POST') return response.writeHead(307, { location: `${other.url}/token` }).end();
      const endpoints = { authorization_endpoint: `${issuer.url}/auth`, token_endpoint: `${issuer.url}/token` };
      const metadata = { issuer: issuer.url, ...endpoints, response_types_supported: ['code'] };
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
    });
    const { file, kept } = await signedIn();
    file.write({ ...kept, issuer: issuer.url });
    const access = accessOf(file, { fetch: issuerFetch(systemTime.limits, systemTime.clock) });
    const asking = { isQuiet: false, signal: new AbortController().signal, tried: {} };
    const renewal = access.after(new Response('', { status: 401 }), kept.tokens?.access_token ?? '', asking);
    await expect(renewal).rejects.toThrow(/gives no good answer/);
    expect(came).toEqual([]);
    await Promise.all([issuer.close(), other.close()]);
  });

  it('are those that a sign-out ends, if it comes during the refresh', async () => {
    const { file, kept } = await signedIn();
    const bodies: string[] = [];
    const noted: typeof fetch = (input, init) => {
      if (typeof init?.body === 'string' || init?.body instanceof URLSearchParams) bodies.push(init.body.toString());
      return desk.fetch(input, init);
    };
    let ended: Promise<string> | undefined;
    await file.alone(async () => {
      ended = signOut(file, { fetch: noted, limits: systemTime.limits });
      file.write({ ...kept, tokens: { access_token: 'a', token_type: 'Bearer', refresh_token: 'renewed' } });
    }, systemTime.limits.tokenMs);
    await ended;
    expect(bodies.join()).toContain('token=renewed');
    expect(file.read()).toBeUndefined();
  });

  it('do not replace those of a sign-in: it waits for the refresh', async () => {
    const file = desk.newFile();
    let isAlone = false;
    const [alone, write] = [file.alone.bind(file), file.write.bind(file)];
    file.alone = (work, withinMs) =>
      alone(async () => {
        isAlone = true;
        return work().finally(() => (isAlone = false));
      }, withinMs);
    const writes: boolean[] = [];
    file.write = (what) => {
      writes.push(isAlone);
      write(what);
    };
    await desk.signIn(file);
    expect(writes).toEqual([true]);
  });
});
