/** Steps of programs: an agent by client credentials, and a stock MCP host that signs a person in. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import { inBrowser, SigningInHost } from '../support/signing-in-client.ts';
import { waitFor } from '../support/wait-for.ts';
import { hold, statusOf } from './calls.ts';
import { signInAs } from './launching-host.ts';
import type { Scene } from './scene.ts';
import type { Step } from './step.ts';

const HOST_CLIENT = 'countersign-host';

/** A client that has nothing to do with the documents, through which the same person acts. */
const OTHER_CLIENT = {
  clientId: 'another-host',
  publicClient: true,
  standardFlowEnabled: false,
  directAccessGrantsEnabled: true,
  defaultClientScopes: ['basic', 'roles', 'mcp'],
};

export const agentCalls: Step = {
  name: 'an agent by client credentials calls tools, and a call of it is held',
  async run(scene, story) {
    const { stack } = scene;
    const token = await scene.agentToken();
    const { body } = await stack.rpc(token, 'tools/list', {});
    const names = (body.result?.['tools'] as { name: string }[]).map(({ name }) => name);
    assert.ok(names.includes('files__write_file'));
    const path = join(stack.files, 'allowed.txt');
    writeFileSync(path, 'allowed by a rule');
    const read = await stack.rpc(token, 'tools/call', { name: 'files__read_text_file', arguments: { path } });
    assert.match(JSON.stringify(read.body.result), /allowed by a rule/);
    story.ofAgent = await hold(scene, token);
    assert.equal(await statusOf(scene, story.ofAgent), 'working');
  },
};

export const hostSignsIn: Step = {
  name: 'a host signs a person in on the page of Keycloak, and only through this host is the call visible',
  async run(scene, story) {
    const host = await new SigningInHost(inBrowser(scene.browser, signInAs('bob'))).start();
    host.kept.client = { client_id: HOST_CLIENT, issuer: scene.keycloak.issuer };
    story.host = host;
    assert.ok((await toolsThrough(scene, host)).includes('files__write_file'));
    assert.equal(host.pages, 1);
    const token = host.kept.tokens?.access_token ?? '';
    const { sub, azp, aud, realm_access: access } = decodeJwt<{ realm_access?: { roles?: string[] } }>(token);
    assert.deepEqual([sub, azp], [scene.ids.bob, HOST_CLIENT]);
    assert.ok(access?.roles?.includes('agent'));
    assert.ok([aud].flat().includes(scene.stack.config.urls.mcp));
    story.ofPerson = await hold(scene, token);
    await isHiddenFromOthers(scene, story.ofPerson.taskId);
  },
};

/** Another client of the same person gets the same answer as for a task that does not exist. */
async function isHiddenFromOthers({ keycloak, stack }: Scene, taskId: string): Promise<void> {
  await keycloak.admin('POST', '/clients', OTHER_CLIENT);
  const form = { grant_type: 'password', client_id: OTHER_CLIENT.clientId, username: 'bob', password: 'bob' };
  const token = String((await keycloak.token(form)).body['access_token']);
  assert.equal(decodeJwt(token).sub, decodeJwt(String((await keycloak.token(form)).body['access_token'])).sub);
  const missing = `${taskId.slice(0, -4)}AAAA`;
  const answers = await Promise.all(
    [taskId, missing].map(async (id) => (await stack.rpc(token, 'tasks/get', { taskId: id })).body.error),
  );
  assert.ok(answers[0]);
  assert.deepEqual(answers[0], answers[1]);
}

export const hostRefreshes: Step = {
  name: 'the host refreshes its expired token without the person, and the refresh token works once',
  async run(scene, { host }) {
    assert.ok(host);
    const used = host.kept.tokens?.refresh_token ?? '';
    host.kept.tokens = { ...host.kept.tokens, access_token: 'expired' };
    assert.ok((await toolsThrough(scene, host)).includes('files__write_file'));
    assert.equal(host.pages, 1);
    assert.notEqual(host.kept.tokens.refresh_token, used);
    const form = { grant_type: 'refresh_token', client_id: HOST_CLIENT, refresh_token: used };
    const again = await scene.keycloak.token(form);
    assert.deepEqual([again.status, again.body['error']], [400, 'invalid_grant']);
  },
};

/** Connects as a host does: tries, signs in when the gateway asks for a token, and tries again. */
async function toolsThrough({ stack }: Scene, host: SigningInHost): Promise<string[]> {
  const transport = () => new StreamableHTTPClientTransport(new URL(stack.config.urls.mcp), { authProvider: host });
  const connect = async () => {
    const client = new Client({ name: 'a-host', version: '0' });
    await client.connect(transport());
    return client;
  };
  const before = host.pages;
  const client = await connect().catch(async (error: unknown) => {
    if (host.pages === before) throw error;
    await transport().finishAuth(await host.answer());
    return connect();
  });
  try {
    const list = async () => (await client.listTools()).tools.map(({ name }) => name);
    return await waitFor(async () => ((await list()).length > 0 ? list() : undefined));
  } finally {
    await client.close();
  }
}
