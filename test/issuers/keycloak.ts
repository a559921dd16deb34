import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packagePath } from '../../apps/shared/config/files.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { waitFor } from '../support/wait-for.ts';

/** The file that docs/issuers/keycloak.md has operators import. */
export const REALM_FILE = packagePath('docs', 'issuers', 'keycloak-realm.json');
export const REALM = 'countersign';
const START_MS = 300_000;
/** Small enough for a machine that runs the product as well. */
const HEAP = '-Xms64m -Xmx512m';
const ADMIN = 'admin';

/** A member of Keycloak's representations. */
type Json = Record<string, unknown>;

/** Keycloak as a process, with the realm of the documents. Its database is in its memory. */
export class Keycloak {
  readonly #home = mkdtempSync(join(tmpdir(), 'countersign-keycloak-'));
  readonly #password = randomBytes(16).toString('hex');
  readonly #port: number;
  #child: ChildProcess | undefined;

  /** @param port Where it will listen. */
  constructor(port: number) {
    this.#port = port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get issuer(): string {
    return `${this.url}/realms/${REALM}`;
  }

  /** @param variables Placeholders of the realm file. */
  async start(distribution: string, variables: Readonly<Record<string, string>>): Promise<void> {
    this.#layOut(distribution);
    const log = openSync(join(this.#home, 'log'), 'a');
    const options = {
      db: 'dev-mem',
      'http-host': '127.0.0.1',
      'http-port': String(this.#port),
      'http-management-port': String(await freePort()),
      hostname: this.url,
    };
    const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    const child = spawn(join(this.#home, 'bin', 'kc.sh'), ['start-dev', '--import-realm', ...args], {
      cwd: this.#home,
      env: {
        ...{ ...process.env, ...variables },
        JAVA_OPTS_KC_HEAP: HEAP,
        JAVA_OPTS_APPEND: '-Djava.net.preferIPv4Stack=true',
        KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN,
        KC_BOOTSTRAP_ADMIN_PASSWORD: this.#password,
      },
      stdio: ['ignore', log, log],
    });
    this.#child = child;
    const discovery = `${this.issuer}/.well-known/openid-configuration`;
    await waitFor(
      () => {
        if (child.exitCode !== null) throw new Error(`Keycloak ended:\n${this.log()}`);
        return fetch(discovery).then(
          (response) => response.ok,
          () => false,
        );
      },
      { timeoutMs: START_MS, everyMs: 250 },
    );
  }

  /** A home whose data belongs to this run alone, around the programs of the distribution. */
  #layOut(distribution: string): void {
    cpSync(join(distribution, 'bin'), join(this.#home, 'bin'), { recursive: true });
    for (const shared of ['conf', 'lib', 'providers', 'themes'])
      symlinkSync(join(distribution, shared), join(this.#home, shared));
    mkdirSync(join(this.#home, 'data', 'import'), { recursive: true });
    cpSync(REALM_FILE, join(this.#home, 'data', 'import', `${REALM}-realm.json`));
  }

  log(): string {
    return readFileSync(join(this.#home, 'log'), 'utf8');
  }

  async stop(): Promise<void> {
    const child = this.#child;
    const isOver = () => child === undefined || child.exitCode !== null || child.signalCode !== null;
    if (!isOver()) child?.kill('SIGTERM');
    await waitFor(isOver);
    rmSync(this.#home, { recursive: true, force: true });
  }

  /** A request to the admin API below the realm; answers the body. Throws for a refusal. */
  async admin<Answer = unknown>(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${this.url}/admin/realms/${REALM}${path}`, {
      method,
      headers: { authorization: `Bearer ${await this.#adminToken()}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`Keycloak answered ${method} ${path} with ${response.status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as Answer;
  }

  async #adminToken(): Promise<string> {
    const form = { grant_type: 'password', client_id: 'admin-cli', username: ADMIN, password: this.#password };
    const { body } = await this.token(form, 'master');
    return String(body['access_token']);
  }

  /** A request to the token endpoint. */
  async token(form: Record<string, string>, realm = REALM): Promise<{ status: number; body: Json }> {
    const url = `${this.url}/realms/${realm}/protocol/openid-connect/token`;
    const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
    return { status: response.status, body: (await response.json()) as Json };
  }

  /** An access token of a client by client credentials. */
  async tokenOf(clientId: string, secret: string): Promise<string> {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
    const { status, body } = await this.token(form);
    if (status !== 200) throw new Error(`no token for ${clientId}: ${JSON.stringify(body)}`);
    return String(body['access_token']);
  }

  /** Keycloak's own id of a client. */
  async clientId(name: string): Promise<string> {
    const [client] = await this.admin<{ id: string }[]>('GET', `/clients?clientId=${name}`);
    if (client === undefined) throw new Error(`there is no client ${name}`);
    return client.id;
  }

  /** The secret that Keycloak made for a client. */
  async secretOf(name: string): Promise<string> {
    const path = `/clients/${await this.clientId(name)}/client-secret`;
    return (await this.admin<{ value: string }>('GET', path)).value;
  }

  /** Makes a person, who signs in with the user name as password; answers Keycloak's id, which is the subject of tokens. */
  async addPerson(username: string, firstName: string, roles: readonly string[]): Promise<string> {
    const credentials = [{ type: 'password', value: username, temporary: false }];
    const person = { username, firstName, lastName: 'Example', email: `${username}@example.com`, emailVerified: true };
    await this.admin('POST', '/users', { ...person, enabled: true, credentials });
    const [found] = await this.admin<{ id: string }[]>('GET', `/users?exact=true&username=${username}`);
    const id = found?.id ?? '';
    await this.setRoles('POST', id, roles);
    return id;
  }

  /** Gives (`POST`) roles to a person, or takes them away (`DELETE`). */
  async setRoles(method: 'POST' | 'DELETE', personId: string, roles: readonly string[]): Promise<void> {
    const known = await this.admin<{ name: string }[]>('GET', '/roles');
    const changed = known.filter(({ name }) => roles.includes(name));
    await this.admin(method, `/users/${personId}/role-mappings/realm`, changed);
  }
}
