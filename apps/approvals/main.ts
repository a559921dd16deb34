import type { Logger } from 'pino';
import { createAccessTokenVerifier } from '../shared/auth/access-token.ts';
import { createClientDemand } from '../shared/auth/client-demand.ts';
import { createSignIn, type SignIn } from '../shared/auth/sign-in.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import type { Config } from '../shared/config/config.ts';
import { type Secrets, secretText } from '../shared/config/secrets.ts';
import { createPool, ROLES } from '../shared/database/pool.ts';
import { databaseProblems } from '../shared/database/readiness.ts';
import { type DirectorySource, openDirectory } from '../shared/directory/directory.ts';
import { runDeployable } from '../shared/deployable.ts';
import { openTo } from '../shared/http/address-limit.ts';
import { listen } from '../shared/http/listen.ts';
import { isEntryScript, type Running } from '../shared/lifecycle.ts';
import { limitsOf, type Timing } from '../shared/limits.ts';
import { startForgetting } from '../shared/maintenance/rounds.ts';
import { startOutbox } from '../shared/outbox.ts';
import { createAccessRequests } from './access-requests/create.ts';
import { accessRequestClients, type AccessRequestClient } from './access-requests/clients.ts';
import { statusEndpoint } from './access-requests/task.ts';
import { createCallbackSender, createNotificationSender } from './callbacks/send-callback.ts';
import { createBreakGlass, createWithdraw } from './break-glass.ts';
import { createSignedPost } from './callbacks/signed-post.ts';
import { type CastVote, createCastVote } from './cast-vote.ts';
import { createApprovalsApp } from './http.ts';
import { inboxRouter } from './inbox/router.tsx';
import { startAskingResolvers } from './jobs/ask-resolvers.ts';
import { startCarryingOutDue } from './jobs/carry-out-due.ts';
import { standIns, type StandIns } from './stand-ins.ts';
import { createDelegationStore } from './stores/delegation.store.ts';
import { createBreakGlassStore, type BreakGlassStore } from './stores/break-glass.store.ts';
import { createAccessRequestStore, type AccessRequestStore } from './stores/access-request.store.ts';
import { configuredResolvers, createConsult } from './resolvers/resolvers.ts';
import { configuredTerms, type TermsOf } from './templates.ts';
import { configuredApprovers, decisionWebhookRouter } from './webhooks/decision-webhook.ts';

const SITE = { name: 'approvals', cookieName: 'countersign_approvals' } as const;
const RIGHTS_POOL = { max: 4, applicationName: 'countersign approvals rights', role: ROLES.approvals } as const;
const MESSAGES_AT_ONCE = 8;

const SECRETS = [
  'accessRequestToken',
  'accessRequestSigningKey',
  'callbackSecret',
  'decisionWebhookSecret',
  'sessionSecret',
  'oidcClientSecret',
] as const;
export type ApprovalsSecrets = Pick<Secrets, (typeof SECRETS)[number]>;

export interface ApprovalsDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly databaseUrl: string;
}

interface Parts extends Timing {
  readonly store: AccessRequestStore;
  readonly castVote: CastVote;
  readonly people: DirectorySource;
  readonly delegations: StandIns;
  readonly brokenGlass: BreakGlassStore;
  readonly termsOf: TermsOf;
  readonly clients: readonly AccessRequestClient[];
  readonly log: Logger;
}

/**
 * Starts the access request service with its inbox on `config.host` and `config.approvals.port`. Rejects with the listen error when the
 * port is taken, and with `ERR_CONFIG_INVALID` for an unusable signing key.
 */
export async function startApprovals(
  config: Config,
  secrets: ApprovalsSecrets,
  { clock, log, databaseUrl }: ApprovalsDeps,
): Promise<Running> {
  const time: Timing = { clock, limits: limitsOf(config) };
  const pool = createPool(databaseUrl, {
    applicationName: 'countersign approvals',
    role: ROLES.approvals,
    durable: config.mode === 'production',
    ...{ log, ...time },
  });
  const rightsPool = createPool(databaseUrl, { ...RIGHTS_POOL, ...time });
  const pools = { sessions: pool, rights: rightsPool };
  const signIn = createSignIn({ config, site: SITE, secrets, pools, log, ...time });
  const running: Running[] = [];
  const stop = async () => {
    for (const one of running.reverse()) await one.stop();
    signIn.close();
    await Promise.all([pool.end(), rightsPool.end()]);
  };
  try {
    const parts = { ...createParts(pool, config, { log, ...time }), clients: await clientsOf(config, secrets) };
    const app = createApprovalsApp({
      ...(await createRouters(config, secrets, { ...parts, signIn })),
      signIn: signIn.handlers,
      url: config.urls.approvals,
      problems: () => databaseProblems(pool),
      log,
      ...time,
    });
    const { urls, keyUrls } = config;
    const addresses = [urls.approvals, urls.accessRequests, keyUrls.approvals];
    const own = { log, ...time };
    const server = await listen(app, openTo(config, { port: config.approvals.port, urls: addresses }, own));
    running.push({ name: 'http', stop: () => server.close() }, ...startSweeps(parts));
    const consult = createConsult({ ...parts, resolvers: await configuredResolvers(config, clock) });
    running.push(await startMessages({ pool, databaseUrl, config, ...parts }));
    // Stops first: its requests abort at once, while sending a message may delay the shutdown.
    running.push(await startAskingResolvers({ pool, databaseUrl, consult, ...own }));
  } catch (error) {
    await stop();
    throw error;
  }
  log.info({ url: config.urls.approvals }, 'the access request service is listening');
  return { name: 'approvals', stop };
}

const startSweeps = ({ store, clock, log }: Pick<Parts, 'store' | 'clock' | 'log'>): Running[] => [
  startCarryingOutDue({ store, clock, log }),
  startForgetting({ of: 'access requests', forget: (limit) => store.forgetEnded(limit), clock, log }),
];

/** Throws `ERR_CONFIG_INVALID` when a template names approvers that the directory rules out. */
function createParts(
  pool: Parameters<typeof createAccessRequestStore>[0],
  config: Config,
  own: Timing & { readonly log: Logger },
) {
  const { log } = own;
  const store = createAccessRequestStore(pool);
  const people = openDirectory(config.directory, own);
  return {
    store,
    delegations: standIns(createDelegationStore(pool), { config, people }),
    brokenGlass: createBreakGlassStore(pool),
    castVote: createCastVote({ store, people, log }),
    people,
    termsOf: configuredTerms(config, people()),
    ...own,
  };
}

const clientsOf = (config: Config, secrets: ApprovalsSecrets) =>
  accessRequestClients(config, {
    accessRequestToken: secrets.accessRequestToken,
    callbackSecret: secrets.callbackSecret,
  });

async function createRouters(config: Config, secrets: ApprovalsSecrets, parts: Parts & { readonly signIn: SignIn }) {
  const { store, castVote, people, delegations, brokenGlass, clock, limits, log } = parts;
  const { urls, identity } = config;
  const { rolesClaim } = identity;
  const { identityClaim } = config.gateway.coaz;
  return {
    accessRequests: await createAccessRequests(config, secrets.accessRequestSigningKey, parts),
    decisions: decisionWebhookRouter({
      store,
      castVote,
      findApprover: configuredApprovers(config, people),
      secret: secrets.decisionWebhookSecret,
      log,
    }),
    inbox: inboxRouter({
      store,
      castVote,
      people,
      delegations,
      withdraw: createWithdraw({ store, people, log }),
      brokenGlass,
      breakGlass: createBreakGlass({ settings: config.approvals.breakGlass, store: brokenGlass, people, log }),
      clock,
      log,
      personOf: parts.signIn.personOf,
      verifyAccessToken: createAccessTokenVerifier({
        ...{ issuer: urls.issuer, audience: urls.approvals, rolesClaim, identityClaim, clock, limits, log },
        maxLifetimeSeconds: identity.maxTokenLifetimeSeconds,
        maxAgeSeconds: identity.tokenMaxAgeSeconds,
      }),
      hasClient: createClientDemand(identity, log),
      scopes: config.approvals.scopes,
      url: urls.approvals,
    }),
  };
}

type MessageParts = Parts & {
  readonly pool: Parameters<typeof startOutbox>[0]['pool'];
  readonly databaseUrl: string;
  readonly config: Config;
};

/** Sends callbacks to enforcement points and notifications to people. */
async function startMessages(parts: MessageParts): Promise<Running> {
  const { pool, databaseUrl, config, store, clients, clock, limits, log } = parts;
  return startOutbox({
    pool,
    listenUrl: databaseUrl,
    schema: 'approvals',
    channel: 'approvals_outbox',
    handlers: {
      callback: createCallbackSender({
        store,
        clients,
        statusEndpointOf: (id) => statusEndpoint(id, config.urls),
        ...{ clock, limits, log },
      }),
      notification: createNotificationSender({
        store,
        receiver: await notified(config.approvals.notifications, parts),
        inboxUrl: config.urls.approvals,
        ...{ clock, log },
      }),
    },
    concurrency: MESSAGES_AT_ONCE,
    ...{ clock, limits, log },
  });
}

async function notified(settings: Config['approvals']['notifications'], time: Timing) {
  if (settings === undefined) return undefined;
  const { url, networks } = settings;
  const secret = await secretText(settings.secret, 'approvals.notifications.secret');
  return { url, post: createSignedPost({ secret, networks }, time) };
}

if (isEntryScript(import.meta.url)) {
  await runDeployable('approvals', SECRETS, systemClock, ({ config, secrets, ...deps }) =>
    startApprovals(config, secrets, deps),
  );
}
