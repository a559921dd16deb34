/** Steps of a host that only launches programs, with `countersign stdio`. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import type { Page } from 'playwright-core';
import { StdioProgram } from '../support/stdio-program.ts';
import { patiently, waitFor } from '../support/wait-for.ts';
import { LaunchingHost, signInAs, STDIO_CLIENT, TIMEOUT_MS, variablesOf } from './launching-host.ts';
import { approve, LIST, openRequest } from './pages.ts';
import { logIn, openAs, type Scene } from './scene.ts';
import type { Step } from './step.ts';

const NEXT_STEP = 'dev.countersign/next-step';

export const stdioNeedsClient: Step = {
  name: 'countersign stdio without a client ID opens no window, and says that Keycloak needs one',
  async run(scene) {
    const program = new StdioProgram(variablesOf(scene));
    const { code, err } = await program.run('--sign-in');
    assert.deepEqual([code, program.opened], [1, []]);
    assert.match(err, /The issuer refused to register this program [(]HTTP 403[)][.] .*--client-id ID/);
  },
};

export const stdioRefuses: Step = {
  name: 'a person who refuses on the page of Keycloak is told so, with the command that begins again',
  async run(scene, story) {
    const host = await LaunchingHost.on(scene);
    story.launching = host;
    const refuse = async (page: Page) => {
      await logIn(page, 'bob');
      await page.locator('#kc-cancel').click();
    };
    const run = host.program.run('--sign-in');
    const [{ code, err }] = await Promise.all([run, host.inWindow(refuse, 'The sign-in was refused')]);
    assert.equal(code, 1);
    assert.match(
      err,
      /The sign-in was refused[.] To sign in, run: (?:node|npx) \S+ stdio .* --client-id countersign-stdio\n$/,
    );
    assert.equal(host.isSignedIn, false);
  },
};

export const stdioSignsIn: Step = {
  name: 'a host that only launches programs signs its person in on the page of Keycloak, and only they can read the tokens',
  async run(scene, { launching: host }) {
    assert.ok(host);
    const [client] = await Promise.all([host.launch(), host.inWindow(signInAs('bob'))]);
    assert.ok((await toolsOf(client)).includes('files__write_file'));
    const { issuer, client: known, tokens } = host.kept;
    assert.deepEqual([issuer, known.client_id], [scene.keycloak.issuer, STDIO_CLIENT]);
    const { sub, azp, aud } = decodeJwt(tokens?.access_token ?? '');
    assert.deepEqual([sub, azp], [scene.ids.bob, STDIO_CLIENT]);
    assert.ok([aud].flat().includes(scene.stack.config.urls.mcp));
  },
};

export const stdioCalls: Step = {
  name: 'the host makes an allowed call, and a held call that runs after an approver decides in the inbox',
  async run(scene, { launching }) {
    assert.ok(launching);
    const { stack } = scene;
    const host = await launching.launch();
    const read = join(stack.files, 'read-by-stdio.txt');
    writeFileSync(read, 'read through the relay');
    const allowed = await host.callTool({ name: 'files__read_text_file', arguments: { path: read } });
    assert.match(JSON.stringify(allowed.content), /read through the relay/);

    const path = join(stack.files, `${randomUUID()}.txt`);
    const calling = write(host, path);
    // A failure of the browser is reported before one of the call.
    calling.catch(() => undefined);
    const alice = await openAs(scene, 'alice', `${stack.config.urls.approvals}${LIST}`);
    await patiently(async () => openRequest(alice, stack.config.urls.approvals, { path }).then(() => true));
    assert.equal(writesOf(scene, path), 0);
    await approve(alice);
    await alice.context().close();
    assert.equal((await calling).isError ?? false, false);
    assert.deepEqual([readFileSync(path, 'utf8'), writesOf(scene, path)], [path, 1]);
  },
};

/** Writes a file, and follows the instructions of the answers until the call has ended. */
async function write(host: Client, path: string) {
  let call = { name: 'files__write_file', arguments: { path, content: path } };
  for (;;) {
    const answer = await host.callTool(call, { timeout: TIMEOUT_MS });
    const next = answer._meta?.[NEXT_STEP] as { tool?: string; arguments?: typeof call.arguments } | undefined;
    if (next?.tool === undefined || next.arguments === undefined) return answer;
    call = { name: next.tool, arguments: next.arguments };
  }
}

const writesOf = ({ stack }: Scene, path: string) =>
  stack.upstreamCalls().filter(({ arguments: { path: written } }) => written === path).length;

export const stdioSignsInBefore: Step = {
  name: 'a person signs in at a terminal before a host starts, and the program says where the tokens are',
  async run(scene, { launching }) {
    assert.ok(launching);
    const { keycloak, ids } = scene;
    const before = launching.kept.tokens?.access_token;
    const { accessTokenLifespan } = await keycloak.admin<{ accessTokenLifespan: number }>('GET', '');
    // So short that it ends while later steps run.
    await keycloak.admin('PUT', '', { accessTokenLifespan: 1 });
    try {
      const run = launching.program.run('--sign-in');
      const [{ code, out, err }] = await Promise.all([run, launching.inWindow(signInAs('bob'))]);
      assert.deepEqual([code, out], [0, '']);
      assert.match(err, /^Opening http:\S+ to sign in at http:\S+\nSigned in[.] The tokens are in \S+\n$/);
    } finally {
      await keycloak.admin('PUT', '', { accessTokenLifespan });
    }
    const { sub, iat = 0, exp = 0 } = decodeJwt(launching.kept.tokens?.access_token ?? '');
    assert.deepEqual([sub, exp - iat], [ids.bob, 1]);
    assert.notEqual(launching.kept.tokens?.access_token, before);
  },
};

export const stdioRefreshes: Step = {
  name: 'after the access token ended, two hosts that start at the same moment go on without the person',
  async run({ stack }, { launching }) {
    assert.ok(launching);
    const { tokens: ended } = launching.kept;
    const isRefused = async () => (await stack.rpcOnce(ended?.access_token ?? '', 'tools/list', {})).status === 401;
    await waitFor(isRefused);
    const hosts = await Promise.all([launching.launch(), launching.launch()]);
    for (const host of hosts) assert.ok((await toolsOf(host)).includes('files__write_file'));
    const { tokens } = launching.kept;
    assert.notEqual(tokens?.access_token, ended?.access_token);
    assert.notEqual(tokens?.refresh_token, ended?.refresh_token);
    assert.ok(launching.hasOpenedNoOther);
  },
};

export const stdioSignsOut: Step = {
  name: 'a sign-out of countersign stdio ends its tokens at Keycloak, and the next message asks the person again',
  async run({ keycloak, ids }, { launching }) {
    assert.ok(launching);
    const host = await launching.launch();
    const { tokens } = launching.kept;
    const { sid } = decodeJwt<{ sid?: string }>(tokens?.refresh_token ?? '');
    const path = `/users/${ids.bob}/offline-sessions/${await keycloak.clientId(STDIO_CLIENT)}`;
    const isAtKeycloak = async () => (await keycloak.admin<{ id: string }[]>('GET', path)).some(({ id }) => id === sid);
    assert.equal(await isAtKeycloak(), true);
    const { code, out } = await launching.program.run('--sign-out');
    assert.deepEqual([code, out], [0, `Signed out at ${keycloak.issuer}.\n`]);
    assert.equal(launching.isSignedIn, false);
    assert.equal(await isAtKeycloak(), false);
    const form = { grant_type: 'refresh_token', client_id: STDIO_CLIENT, refresh_token: tokens?.refresh_token ?? '' };
    const { status, body } = await keycloak.token(form);
    assert.deepEqual([status, body['error']], [400, 'invalid_grant']);
    const [tools] = await Promise.all([toolsOf(host), launching.inWindow(signInAs('bob'))]);
    assert.ok(tools.includes('files__write_file'));
  },
};

/** The names of the tools that the host sees. The first list may come before the upstreams answer. */
const toolsOf = (host: Client): Promise<string[]> =>
  waitFor(async () => {
    const names = (await host.listTools(undefined, { timeout: TIMEOUT_MS })).tools.map(({ name }) => name);
    return names.length > 0 ? names : undefined;
  });
