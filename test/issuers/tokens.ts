/** Steps with tokens that lack something, and what `doctor` says of them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { packagePath } from '../../apps/shared/config/files.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Scene } from './scene.ts';
import type { Step } from './step.ts';

const SECRET = 'the secret of a client of this test';

/** A client whose tokens are for the gateway, without its scope. */
const narrowClient = (mcp: string) => ({
  clientId: 'narrow',
  secret: SECRET,
  publicClient: false,
  standardFlowEnabled: false,
  serviceAccountsEnabled: true,
  defaultClientScopes: ['basic', 'roles'],
  optionalClientScopes: [],
  protocolMappers: [audienceMapper(mcp)],
});

const audienceMapper = (audience: string) => ({
  name: 'audience',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-audience-mapper',
  config: { 'included.custom.audience': audience, 'access.token.claim': 'true' },
});

/** Runs the command with the token on its standard input. */
async function doctor({ stack }: Scene, token: string, ...args: string[]): Promise<{ code: number; out: string }> {
  const main = packagePath('dist', 'apps', 'cli', 'main.js');
  const child = spawn(process.execPath, [main, ...args, 'doctor', '--token-file', '-'], {
    cwd: stack.folder,
    env: { ...process.env, COUNTERSIGN_STATE: stack.stateDir },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
  child.stdin.end(token);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  for (const part of token.split('.')) assert.ok(!(out + err).includes(part), 'doctor prints a part of the token');
  return { code: await ended, out };
}

export const missingScope: Step = {
  name: 'a token without the scope is answered with 403 and the scope, and doctor says where Keycloak has it',
  async run(scene) {
    const { keycloak, stack } = scene;
    await keycloak.admin('POST', '/clients', narrowClient(stack.config.urls.mcp));
    const token = await keycloak.tokenOf('narrow', SECRET);
    const { status, headers } = await stack.rpcOnce(token, 'tools/list', {});
    assert.equal(status, 403);
    const challenge = headers.get('www-authenticate') ?? '';
    assert.match(challenge, /error="insufficient_scope"/);
    assert.match(challenge, /scope="mcp"/);
    const { code, out } = await doctor(scene, token);
    assert.equal(code, 1);
    assert.match(out, /fail {2}token scopes +mcp is missing/);
    assert.match(out, /Keycloak: scope; Client scopes: add mcp with Include in token scope/);
  },
};

export const missingAudience: Step = {
  name: 'a token for another service is answered with 401, the log names aud, and doctor says where Keycloak has it',
  async run(scene) {
    const { keycloak, stack } = scene;
    interface ClientScope {
      readonly id: string;
      readonly name: string;
      readonly protocolMappers?: readonly { readonly id: string }[];
    }
    const scopes = await keycloak.admin<ClientScope[]>('GET', '/client-scopes');
    const { id, protocolMappers = [] } = scopes.find(({ name }) => name === 'mcp') ?? { id: '' };
    const models = `/client-scopes/${id}/protocol-mappers`;
    for (const mapper of protocolMappers) await keycloak.admin('DELETE', `${models}/models/${mapper.id}`);
    try {
      await isForAnother(scene);
    } finally {
      await keycloak.admin('POST', `${models}/add-models`, [audienceMapper(stack.config.urls.mcp)]);
    }
    assert.equal((await stack.rpcOnce(await scene.agentToken(), 'tools/list', {})).status, 200);
  },
};

async function isForAnother(scene: Scene): Promise<void> {
  const { stack } = scene;
  const token = await scene.agentToken();
  assert.equal((await stack.rpcOnce(token, 'tools/list', {})).status, 401);
  const log = join(stack.stateDir, 'logs', 'countersign.log');
  await waitFor(() => readFileSync(log, 'utf8').includes('"reason":"its `aud` is '));
  const { code, out } = await doctor(scene, token);
  assert.equal(code, 1);
  assert.match(out, /fail {2}token audience +aud is .*and has to contain http/);
  assert.match(out, /Keycloak: .*Included Custom Audience http/);
}

export const doctorAgrees: Step = {
  name: 'doctor finds nothing wrong with a good token, and names a claim of roles that is not Keycloak’s',
  async run(scene) {
    const token = await scene.agentToken();
    const good = await doctor(scene, token);
    assert.match(good.out, /ok {4}identity +http.*[(]Keycloak[)]/);
    for (const what of ['', ' audience', ' subject', ' client', ' scopes', ' roles'])
      assert.match(good.out, new RegExp(`^ok {4}token${what} `, 'm'));
    assert.equal(good.code, 0, good.out);
    const file = join(scene.stack.folder, 'wrong.yaml');
    const settings = readFileSync(join(scene.stack.folder, 'countersign.yaml'), 'utf8');
    writeFileSync(file, settings.replace(/rolesClaim: .*/, 'rolesClaim: roles'));
    const { out } = await doctor(scene, token, '--config', file);
    assert.match(out, /warn {2}token roles +roles is missing or empty/);
    assert.match(out, /set identity[.]rolesClaim to realm_access[.]roles/);
  },
};
