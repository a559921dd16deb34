import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { CliError } from '../../../apps/cli/context.ts';
import { signOut } from '../../../apps/cli/stdio/sign-out.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { serve } from '../../support/serve.ts';
import { SignInDesk } from '../../support/stdio-sign-in.ts';
import { systemTime } from '../../support/time.ts';
import { waitFor } from '../../support/wait-for.ts';

const desk = new SignInDesk();
beforeAll(() => desk.start({ settings: { identity: { hosts: { registrationsPerMinute: 10_000 } } } }));
afterAll(() => desk.stop());
beforeEach(() => {
  desk.asked.length = 0;
  desk.said.length = 0;
  desk.namedIssuer = undefined;
});

/** The message of a sign-in that fails; no tokens are left of it. */
async function failure(attempt: Promise<void>, file = desk.newFile()): Promise<string> {
  const error: unknown = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(CliError);
  expect(file.read()?.tokens).toBeUndefined();
  return (error as Error).message;
}

describe('a sign-in', () => {
  it('puts tokens of the person for this endpoint into a file of their own', async () => {
    const file = desk.newFile();
    let page = '';
    await desk.signIn(file, async (address) => {
      const answer = await desk.press()(address);
      page = `${answer.status} ${answer.headers.get('content-type')} ${await answer.text()}`;
    });
    const { tokens, issuer, resource, client } = file.read() ?? {};
    expect({ issuer, resource }).toEqual({ issuer: desk.issuer.url, resource: desk.url });
    expect(decodeJwt(tokens?.access_token ?? '')).toMatchObject({
      ...{ sub: 'bob', aud: desk.url, iss: desk.issuer.url, client_id: client?.client_id },
    });
    expect(tokens?.refresh_token).toEqual(expect.any(String));
    expect([statSync(file.path).mode & 0o777, statSync(dirname(file.path)).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(page).toMatch(/^200 text\/html; charset=utf-8 .*<h1>You are signed in<\/h1><p>You can close this window/s);
    expect(page).not.toMatch(/<script|<a |<img|<form|src=|href=/);
    expect(desk.said.at(-1)).toBe(`Signed in. The tokens are in ${file.path}`);
  });

  it('names no secret in what it says, nor in the address that it opens', async () => {
    const file = desk.newFile();
    let opened = '';
    let location = '';
    await desk.signIn(file, async (address) => {
      opened = address;
      const { location: at, page } = await desk.arriveAt(address);
      location = at;
      return fetch(await desk.issuer.press(page, { person: 'bob' }));
    });
    const { searchParams } = new URL(location);
    const secrets = [searchParams.get('state'), searchParams.get('code_challenge'), file.read()?.tokens?.access_token];
    for (const secret of secrets) expect(`${opened}\n${desk.said.join('\n')}`).not.toContain(secret);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      ...{ code_challenge_method: 'S256', response_type: 'code', resource: desk.url, scope: 'mcp' },
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
    });
  });

  it('begins with what the endpoint demands: it names its metadata and the scopes', async () => {
    await desk.signIn(desk.newFile());
    const { pathname } = new URL(desk.asked[1] ?? '');
    expect([desk.asked[0], pathname]).toEqual([desk.url, '/.well-known/oauth-protected-resource/mcp']);
  });

  it('keeps its client and its port, so that calls keep their owner', async () => {
    const file = desk.newFile();
    await desk.signIn(file);
    const first = file.read();
    await desk.signIn(file);
    const second = file.read();
    expect(second?.client).toEqual(first?.client);
    expect(second?.tokens?.access_token).not.toBe(first?.tokens?.access_token);
    expect(desk.asked.filter((address) => address.endsWith('/reg'))).toHaveLength(1);
  });

  it('registers anew if the issuer knows nothing of its client', async () => {
    const file = desk.newFile();
    await desk.signIn(file);
    const kept = file.read();
    if (kept === undefined) throw new Error('no sign-in');
    file.write({ ...kept, client: { ...kept.client, client_id: 'Host-forgotten' }, tokens: undefined });
    const clock = new ManualClock();
    const seen: number[] = [];
    const look = async (address: string) => void seen.push((await desk.arriveAt(address)).page.answer.status);
    const attempt = desk.signIn(file, look, { clock });
    attempt.catch(() => undefined);
    await waitFor(() => seen.length > 0);
    await clock.advance(systemTime.limits.browserSignInMs);
    expect(await failure(attempt, file)).toMatch(/^No sign-in came within/);
    expect(seen).toEqual([400]);
    await desk.signIn(file);
    expect(file.read()?.client.client_id).toMatch(/^Host-(?!forgotten)/);
  });

  it('ends with the word of a person who refuses, and with the command that begins again', async () => {
    let page = '';
    const refuse = async (address: string) => void (page = await (await desk.press({ refuse: 'yes' })(address)).text());
    const said = await failure(desk.signIn(desk.newFile(), refuse));
    expect(said).toBe(`The sign-in was refused. To sign in, run: ${desk.command}`);
    await waitFor(() => page !== '');
    expect(page).toMatch(/<h1>The sign-in was refused<\/h1><p>.*begin again in your program/);
    expect(desk.redeemed).toBe(0);
  });

  it('works with a pasted address, where the browser is on another machine', async () => {
    const file = desk.newFile();
    const paste = async () => {
      const location = /\n {2}(http\S+)\n/.exec(await waitFor(() => desk.said.join('\n')))?.[1] ?? '';
      return String(await desk.issuer.press(await desk.issuer.open(location), { person: 'bob' }));
    };
    await desk.signIn(file, undefined, { open: undefined, ask: paste });
    expect(decodeJwt(file.read()?.tokens?.access_token ?? '')).toMatchObject({ sub: 'bob' });
    const wrong = desk.signIn(desk.newFile(), undefined, {
      open: undefined,
      ask: async () => 'http://127.0.0.1/callback',
    });
    expect(await failure(wrong)).toMatch(/^This is not the address of this sign-in\./);
  });
});

describe('another program on this machine', () => {
  it('with a wrong state, or none, or two, is refused, and the sign-in goes on', async () => {
    const file = desk.newFile();
    const statuses: number[] = [];
    await desk.signIn(file, async (address) => {
      const arrived = await desk.answerFor(address);
      const forged = ['wrong', undefined, 'both'].map((how) => {
        const url = new URL(arrived);
        if (how === 'both') url.searchParams.append('state', 'wrong');
        else if (how === undefined) url.searchParams.delete('state');
        else url.searchParams.set('state', how);
        return url;
      });
      for (const url of forged) statuses.push((await fetch(url)).status);
      expect(desk.redeemed).toBe(0);
      statuses.push((await fetch(arrived)).status);
    });
    expect(statuses).toEqual([400, 400, 400, 200]);
  });

  it('that opens the sign-in before the person ends it, without tokens', async () => {
    const answers: (number | string)[] = [];
    const both = async (address: string) => {
      const stranger = await fetch(address, { redirect: 'manual' });
      const person = await fetch(address, { redirect: 'manual' });
      answers.push(stranger.status, person.status, await person.text());
      // The stranger's answer finds no sign-in.
      const arrived = await desk.issuer.press(await desk.issuer.open(stranger.headers.get('location') ?? ''), {
        person: 'bob',
      });
      answers.push(
        await fetch(arrived).then(
          ({ status }) => status,
          () => 'nothing listens',
        ),
      );
    };
    const file = desk.newFile();
    expect(await failure(desk.signIn(file, both), file)).toMatch(/opened twice, so it was ended/);
    await waitFor(() => answers.length === 4);
    expect(answers.slice(0, 3)).toEqual([303, 410, expect.stringMatching(/already been opened<\/h1><p>For safety/)]);
    expect([410, 'nothing listens']).toContain(answers[3]);
    expect(desk.redeemed).toBe(0);
  });

  it('that guesses, posts, or names another host, learns nothing', async () => {
    const file = desk.newFile();
    const statuses: number[] = [];
    await desk.signIn(file, async (address) => {
      const { origin } = new URL(address);
      for (const path of ['/start', '/start?once=x', '/', '/callback', '//'])
        statuses.push((await fetch(origin + path)).status);
      statuses.push((await fetch(address, { method: 'POST' })).status);
      await desk.press()(address);
    });
    expect(statuses).toEqual([400, 400, 404, 400, 404, 405]);
  });
});

describe('an answer of another issuer', () => {
  it.each([
    ['another issuer', 'https://evil.example'],
    ['a slash more', 'slash'],
    ['no issuer', undefined],
  ])('with %s is refused before its code is used', async (_case, iss) => {
    const file = desk.newFile();
    const mixUp = async (address: string) => {
      const arrived = await desk.answerFor(address);
      if (iss === undefined) arrived.searchParams.delete('iss');
      else arrived.searchParams.set('iss', iss === 'slash' ? `${desk.issuer.url}/` : iss);
      await fetch(arrived);
    };
    expect(await failure(desk.signIn(file, mixUp), file)).toMatch(/did not come from the issuer that was asked/);
    expect(desk.redeemed).toBe(0);
  });

  it('with an error is refused before the error is believed', async () => {
    const mixUp = async (address: string) => {
      const arrived = await desk.answerFor(address, { refuse: 'yes' });
      arrived.searchParams.set('iss', 'https://evil.example');
      await fetch(arrived);
    };
    expect(await failure(desk.signIn(desk.newFile(), mixUp))).toMatch(/did not come from the issuer/);
  });

  it('is never shown the client or the tokens of the first one', async () => {
    const file = desk.newFile();
    await desk.signIn(file);
    const before = file.read();
    const came: string[] = [];
    const other = await serve((request, response) => {
      const { url = '' } = request;
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        came.push(`${url} ${request.headers.authorization ?? ''} ${body}`);
        response.setHeader('content-type', 'application/json');
        if (!url.startsWith('/.well-known/')) return response.writeHead(400).end('{"error":"invalid_request"}');
        const endpoints = ['authorization', 'token', 'registration'].map((one) => [
          `${one}_endpoint`,
          `${other.url}/${one}`,
        ]);
        return response.end(
          JSON.stringify({ issuer: other.url, ...Object.fromEntries(endpoints), response_types_supported: ['code'] }),
        );
      });
    });
    desk.namedIssuer = other.url;
    await failure(
      desk.signIn(file, async () => undefined),
      desk.newFile(),
    );
    expect(came.some((one) => one.startsWith('/registration'))).toBe(true);
    const { client, tokens } = before ?? {};
    for (const secret of [client?.client_id, tokens?.access_token, tokens?.refresh_token]) {
      expect(came.join('\n')).not.toContain(secret);
    }
    expect(file.read()).toEqual(before);
    await other.close();
  });
});

describe('an issuer that registers no programs', () => {
  const closed = new SignInDesk();
  beforeAll(() => closed.start({ settings: { identity: { hosts: { registration: false } } } }));
  afterAll(() => closed.stop());

  it('needs a client by name, and the message says so', async () => {
    const error: unknown = await closed.signIn(closed.newFile()).catch((thrown: unknown) => thrown);
    expect((error as Error).message).toBe(
      'The issuer registers no programs. Ask its operator for a public client, and give its id: --client-id ID',
    );
  });
});

describe('a sign-out', () => {
  const deps = { fetch, limits: systemTime.limits };
  it('ends the sign-in at the issuer, and deletes the tokens', async () => {
    const file = desk.newFile();
    await desk.signIn(file);
    const { client, tokens } = file.read() ?? {};
    expect(await signOut(file, deps)).toBe(`Signed out at ${desk.issuer.url}.`);
    expect(existsSync(file.path)).toBe(false);
    const host = { id: client?.client_id ?? '', redirectUri: '' };
    expect(await desk.issuer.refresh(host, tokens?.refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    expect(await signOut(file, deps)).toBe('You are not signed in.');
  });

  it('deletes the tokens also when the issuer is away, and says what it could not do', async () => {
    const file = desk.newFile();
    await desk.signIn(file);
    const fetch = () => Promise.reject(new TypeError('fetch failed'));
    await expect(signOut(file, { ...deps, fetch })).rejects.toThrow(
      /The tokens are deleted here, but .* keeps the sign-in/,
    );
    expect(existsSync(file.path)).toBe(false);
  });
});

it('writes nothing but its file into the home folder', async () => {
  const file = desk.newFile();
  await desk.signIn(file);
  expect(JSON.parse(readFileSync(file.path, 'utf8'))).toEqual(file.read());
});
