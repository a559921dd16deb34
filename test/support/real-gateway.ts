import { pino } from 'pino';
import { startGateway } from '../../apps/gateway/main.ts';
import { parseConfig, type Config } from '../../apps/shared/config/config.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import type { Clock } from '../../apps/shared/clock.ts';
import { type Running, stopAll } from '../../apps/shared/lifecycle.ts';
import { anAuthority } from './authority-stub.ts';
import { ChangingConfig } from './changing-config.ts';
import { createTestDatabase } from './database.ts';
import { SEALING_SECRETS } from './gated-calls.ts';
import { CALLBACK_SECRET } from './gateway-world.ts';
import { send, type Sent } from './gateway-wire.ts';
import { waitFor } from './wait-for.ts';
import { aWallClock, PATIENT_FACTOR, systemTime } from './time.ts';

const server = new URL('../clients/fixtures/crashing-server.mjs', import.meta.url).pathname;

const CRASHING = { files: { command: process.execPath, args: [server] } };

/** A policy decision point's answer "not without an approval". */
export const REQUESTABLE = {
  decision: false,
  context: {
    evaluation_id: 'canary-evaluation',
    reason: 'canary-reason',
    access_request: {
      expires_at: '2126-01-01T00:00:00Z',
      binding_token: 'canary-token',
      template: 'canary-template',
    },
  },
};

/** Sections of the configuration beside the gateway's own settings. */
type Sections = Readonly<
  Partial<Record<'mcpServers' | 'signature' | 'tools' | 'requirements' | 'obligations' | 'pdp' | 'identity', object>>
>;

/**
 * The gateway with its real parts: a database, an upstream process, and an authority that gives the test's answers.
 * `another` starts one more over the same database.
 */
export async function startRealGateway(settings: Partial<Config['gateway']>, sections: Sections = {}) {
  const clock = aWallClock();
  const authority = await anAuthority(clock);
  const database = await createTestDatabase();
  const replicas: Running[] = [];
  const selfChecks = () => authority.seen.filter(({ body }) => body.includes('countersign-self-check')).length;
  const another = async () => {
    const [authorityUrl, looksBefore] = [authority.url, selfChecks()];
    const replica = { authorityUrl, databaseUrl: database.url, settings, sections, clock };
    const { urls, running, programs, change } = await startReplica(replica);
    replicas.push(running);
    // The gateway looks at the authority once by itself, and a test does not count that.
    if (sections.pdp === undefined) await waitFor(() => selfChecks() > looksBefore);
    // On a slow machine, programs need longer to start than a call waits for them.
    const token = await authority.token({ aud: urls.mcp });
    const listed = async () => (await send({ mcpUrl: urls.mcp }, 'tools/list', {}, { token })).text;
    await waitFor(async () => {
      const text = programs.length === 0 ? '' : await listed();
      return programs.every((name) => text.includes(`"${name}__`));
    });
    const stop = async () => {
      replicas.splice(replicas.indexOf(running), 1);
      await running.stop();
    };
    return { mcpUrl: urls.mcp, url: urls.gateway, stop, change };
  };
  const { mcpUrl, url, change } = await another();
  const tokenFor = (claims: object = {}) => authority.token({ aud: mcpUrl, ...claims });
  const received: string[] = [];
  return {
    authority,
    /** The clock of the gateway, which a test sets ahead. */
    clock,
    database,
    mcpUrl,
    another,
    change,
    callbackUrl: `${url}/callbacks/access-requests`,
    /** Every text that a client was sent. */
    received,
    async send(method: string, params: Record<string, unknown>, token?: string, signal?: AbortSignal): Promise<Sent> {
      const answer = await send({ mcpUrl }, method, params, { token: token ?? (await tokenFor()), signal });
      received.push(answer.text);
      return answer;
    },
    /** Every call needs an approval from now on, and every submission is accepted as a new request. */
    reset(): void {
      authority.seen.length = 0;
      authority.decide = () => REQUESTABLE;
      let requests = 0;
      authority.accept = () => ({
        status: 202,
        body: {
          task: {
            id: `canary-request-${Date.now()}-${(requests += 1)}`,
            status: 'pending',
            status_endpoint: `${authority.url}/access/v1/requests/canary-status`,
          },
        },
      });
    },
    async stop(): Promise<void> {
      await stopAll(replicas);
      await database.drop();
      await authority.close();
    },
  };
}

interface Replica {
  readonly authorityUrl: string;
  readonly databaseUrl: string;
  readonly settings: Partial<Config['gateway']>;
  readonly sections: Sections;
  readonly clock: Clock;
}

async function startReplica({ authorityUrl: url, databaseUrl, settings, sections, clock }: Replica) {
  const port = await freePort();
  const parse = (others: Sections) =>
    parseConfig(
      {
        timeLimitFactor: PATIENT_FACTOR,
        mcpServers: CRASHING,
        // Held calls wait in the tests about that.
        gateway: { port, waitSeconds: 0, ...settings },
        pdp: { url },
        approvals: { url },
        ...others,
        identity: { issuer: url, ...others.identity },
      },
      { baseDir: '/', stateDir: '/' },
    );
  const secrets = {
    pdpToken: 'pdp-token-of-the-gateway',
    accessRequestToken: 'ars-token-of-the-gateway',
    callbackSecret: CALLBACK_SECRET,
    ...SEALING_SECRETS,
  };
  const live = new ChangingConfig(parse(sections));
  const { config } = live;
  const running = await startGateway(config, secrets, {
    ...systemTime,
    ...{ clock, live },
    databaseUrl,
    log: pino({ level: 'silent' }),
  });
  const programs = Object.entries(config.mcpServers).flatMap(([name, of]) => ('command' in of ? [name] : []));
  /** Puts a configuration in force that differs in these sections. */
  const change = (others: Sections) => live.change(parse({ ...sections, ...others }));
  return { urls: config.urls, running, programs, change };
}
