import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { JWK, JWTPayload } from 'jose';
import { pino } from 'pino';
import { startApprovals } from '../../apps/approvals/main.ts';
import { publicKey } from '../../apps/shared/auth/signing-key.ts';
import { type IssuedToken, requestPersonToken } from '../../apps/shared/auth/client-credentials.ts';
import type { Config } from '../../apps/shared/config/config.ts';
import { loadDevelopmentSecrets, type DevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { startIdentityProvider } from '../../apps/shared/embedded/identity-provider.ts';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import type { Running } from '../../apps/shared/lifecycle.ts';
import type { Browser } from './browser.ts';
import { ChangingConfig } from './changing-config.ts';
import { testConfig } from './config.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { postSigned } from './decisions.ts';
import { serve } from './serve.ts';
import { resigned, signedToken } from './signed-tokens.ts';
import { signInTo } from './signing-in.ts';
import { aSubmission, type SubmissionChanges } from './submissions.ts';
import { waitFor } from './wait-for.ts';
import { aWallClock, systemTime } from './time.ts';

export interface ReceivedCallback {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Another signing key, and the JWK that is published for it. */
interface Restart {
  readonly key?: DevelopmentSecrets['secrets']['accessRequestSigningKey'];
  readonly publishedKeys?: Config['approvals']['publishedKeys'];
}

/** A JSON answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // Answers are asserted member by member.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

/**
 * The real access request service and identity provider, between a PDP that only has keys and a gateway that only
 * listens.
 */
export class ApprovalsUnderTest {
  config!: Config;
  database!: TestDatabase;
  /** The clock of the service, which a test sets. */
  readonly clock = aWallClock();
  readonly callbacks: ReceivedCallback[] = [];
  /** The gateway's answers to the next callbacks; 204 when the list is empty. */
  readonly callbackAnswers: number[] = [];
  /** The questions of the service for previews, and the gateway's answer to the next. */
  readonly previewQuestions: ReceivedCallback[] = [];
  previewAnswer: { readonly status: number; readonly body: unknown } = { status: 404, body: {} };
  log = '';
  /** The PDP's published keys, its recorded denials by evaluation, and the requests to it. */
  readonly pdpKeys: JWK[] = [];
  /** Its answer in place of its keys. */
  pdpKeysFail: { readonly status: number; readonly body: unknown } | undefined;
  readonly recorded = new Map<string, { readonly status: number; readonly body: unknown }>();
  readonly pdpAsked: { readonly path: string; readonly authorization: string | undefined }[] = [];
  #keys!: DevelopmentSecrets;
  readonly #folder = mkdtempSync(join(tmpdir(), 'approvals-'));
  /** The configuration of the service, which a test changes while it runs. */
  live!: ChangingConfig;
  /** Names that agents give themselves, by client id. */
  readonly agentNames = new Map<string, string>();
  #service: Running | undefined;
  #issuer: Running | undefined;
  readonly #servers: HttpServer[] = [];
  /** By person and audience. They last longer than any test. */
  readonly #tokens = new Map<string, Promise<IssuedToken>>();

  get url() {
    return this.config.urls.approvals;
  }
  get secrets() {
    return this.#keys.secrets;
  }

  async start(raw: Parameters<typeof testConfig>[1] = {}, timeLimitFactor?: number): Promise<void> {
    const at = { baseDir: this.#folder, stateDir: this.#folder };
    this.#keys = await loadDevelopmentSecrets(this.#folder);
    this.config = await testConfig(at, raw, timeLimitFactor);
    this.database = await createTestDatabase();
    await this.#startStrangers();
    await this.startIssuer();
    await this.#startService();
  }

  async startIssuer(): Promise<void> {
    const log = pino({ level: 'info' }, { write: (line: string) => void (this.log += line) });
    this.#issuer = await startIdentityProvider(this.config, this.#keys, log);
  }

  /** It does not answer until it is started again, and then it has forgotten who signed in. */
  async stopIssuer(): Promise<void> {
    await this.#issuer?.stop();
    this.#issuer = undefined;
  }

  /** Lets `identity.recheckSeconds` pass since the issuer was last asked about the signed-in people. */
  async passBound(schema: 'approvals' | 'audit' = 'approvals'): Promise<void> {
    const passed = this.config.identity.recheckSeconds + 1;
    await this.database.pool.query(`UPDATE ${schema}.session SET asked_at = asked_at - make_interval(secs => $1)`, [
      passed,
    ]);
  }

  async #startService(changed: Restart = {}): Promise<void> {
    const log = pino({ level: 'info' }, { write: (line: string) => void (this.log += line) });
    const { key = this.secrets.accessRequestSigningKey, publishedKeys = [] } = changed;
    const config = { ...this.config, approvals: { ...this.config.approvals, publishedKeys: [...publishedKeys] } };
    const secrets = { ...this.secrets, accessRequestSigningKey: key };
    this.live = new ChangingConfig(config);
    this.#service = await startApprovals(this.live.config, secrets, {
      ...systemTime,
      clock: this.clock,
      live: this.live,
      agentNames: () => this.agentNames,
      log,
      databaseUrl: this.database.url,
    });
  }

  /** Stops only the service, with its inbox. */
  async pause(): Promise<void> {
    await this.#service?.stop();
    this.#service = undefined;
  }

  async restart(changed: Restart = {}): Promise<void> {
    await this.pause();
    await this.#startService(changed);
  }

  async stop(): Promise<void> {
    await this.pause();
    await this.stopIssuer();
    for (const server of this.#servers) await server.close();
    await this.database.drop();
    rmSync(this.#folder, { recursive: true });
  }

  async #startStrangers(): Promise<void> {
    this.pdpKeys.push(publicKey(this.secrets.pdpSigningKey));
    const pdp: RequestListener = ({ url = '', headers }, response) => {
      this.pdpAsked.push({ path: url, authorization: headers.authorization });
      const { status, body } =
        url === '/access/v1/jwks'
          ? (this.pdpKeysFail ?? { status: 200, body: { keys: this.pdpKeys } })
          : (this.recorded.get(url.replace('/access/v1/denials/', '')) ?? { status: 404, body: {} });
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    };
    const gateway: RequestListener = (request, response) =>
      void text(request).then((body) => {
        if (request.url === '/callbacks/previews') {
          this.previewQuestions.push({ headers: request.headers, body });
          const { status, body: answer } = this.previewAnswer;
          return response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
        }
        this.callbacks.push({ headers: request.headers, body });
        response.writeHead(this.callbackAnswers.shift() ?? 204).end();
      });
    this.#servers.push(await serve(pdp, this.config.pdp.port), await serve(gateway, this.config.gateway.port));
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(new URL(path, this.url), { redirect: 'manual', ...init });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** As the gateway, with its credential. */
  asGateway(path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.secrets.accessRequestToken}`, ...init.headers };
    return this.fetch(path, { ...init, headers });
  }

  submission(changes: SubmissionChanges = {}) {
    return aSubmission({ urls: this.config.urls, key: this.secrets.pdpSigningKey }, changes);
  }

  submit(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.asGateway('/access/v1/requests', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID(), ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  /** Opens a request; answers its id and the data that an approver has to send back. */
  async open(changes: SubmissionChanges = {}) {
    const body = await this.submission(changes);
    const key = { 'idempotency-key': crypto.randomUUID() };
    // As every client does: repeats the request while the service is not available.
    const { status, body: answer } = await waitFor(async () => {
      const answered = await this.submit(body, key);
      return answered.status === 503 ? undefined : answered;
    });
    // A grant approves some at once.
    if (status !== 202 && status !== 201)
      throw new Error(`the submission was answered ${status}: ${JSON.stringify(answer)}`);
    return { id: answer.task.id as string, callDigest: body.context.call_digest, generation: 1 };
  }

  status(id: string): Promise<Answer> {
    return this.asGateway(`/access/v1/requests/${id}`);
  }

  async token(name: string, audience: 'approvals' | 'mcp' = 'approvals'): Promise<string> {
    const key = `${audience} ${name}`;
    const token = this.#tokens.get(key) ?? requestPersonToken(this.config, this.#keys, { name, audience });
    this.#tokens.set(key, token);
    return (await token).accessToken;
  }

  /** A token of the issuer with these claims, as an issuer other than the embedded one may give them out. */
  tokenWith(claims: JWTPayload, header: { readonly typ?: string } = {}): Promise<string> {
    const { issuer: iss, approvals: aud } = this.config.urls;
    const iat = Math.floor(Date.now() / 1_000);
    return signedToken(
      this.#keys,
      { iss, aud, scope: 'approvals', client_id: 'a-program', iat, exp: iat + 300, ...claims },
      header,
    );
  }

  /** A token that the issuer gave out, with other claims. A claim that is undefined is left out. */
  resigned(token: string, claims: object): Promise<string> {
    return resigned(this.#keys, token, claims);
  }

  /** As a person with a program. */
  async asPerson(name: string, path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = { authorization: `Bearer ${await this.token(name)}`, 'content-type': 'application/json' };
    return this.fetch(path, { ...init, headers: { ...headers, ...init.headers } });
  }

  vote(name: string, request: { id: string; callDigest: string }, verdict: 'approve' | 'deny', more: object = {}) {
    const body = JSON.stringify({ verdict, callDigest: request.callDigest, ...more });
    return this.asPerson(name, `/requests/${request.id}/votes`, { method: 'POST', body });
  }

  /** As a system that speaks for this person. */
  voteByWebhook(subject: string, request: { id: string; callDigest: string }, verdict: 'approve' | 'deny') {
    const { id: requestId, callDigest } = request;
    const body = JSON.stringify({ requestId, generation: 1, callDigest, approver: { subject }, verdict });
    const message = { id: `msg_${crypto.randomUUID()}`, secret: this.secrets.decisionWebhookSecret };
    return postSigned(`${this.url}/webhooks/decisions`, body, message);
  }

  /** A browser in which this person has signed in the ordinary way. */
  async signIn(name: string): Promise<Browser> {
    const { site } = await signInTo({ site: this.url, issuer: this.config.urls.issuer }, name);
    return site;
  }
}
