import express, { type Express, type Router } from 'express';
import type { Pool } from 'pg';
import { createPeopleVerifier } from '../shared/auth/access-token.ts';
import { createClientDemand } from '../shared/auth/client-demand.ts';
import { createSignIn, type SignIn } from '../shared/auth/sign-in.ts';
import { systemClock } from '../shared/clock.ts';
import { knownPeople } from '../shared/approvers/known-people.ts';
import type { Config } from '../shared/config/config.ts';
import { unchanging } from '../shared/config/live.ts';
import type { Secrets } from '../shared/config/secrets.ts';
import { createPool, ROLES } from '../shared/database/pool.ts';
import { databaseNeed } from '../shared/database/readiness.ts';
import { EMPTY_DIRECTORY, openDirectory } from '../shared/directory/directory.ts';
import { type Deps, runDeployable } from '../shared/deployable.ts';
import { openTo } from '../shared/http/address-limit.ts';
import { healthRouter, traced } from '../shared/http/health.ts';
import { listen } from '../shared/http/listen.ts';
import { pageHeaders } from '../shared/http/page-headers.ts';
import { isEntryScript, type Running } from '../shared/lifecycle.ts';
import { type Limits, limitsOf, type Timing } from '../shared/limits.ts';
import { startForgetting } from '../shared/maintenance/rounds.ts';
import { startWatchingNeeds } from '../shared/needs.ts';
import { startOutbox } from '../shared/outbox.ts';
import { assetsRouter } from '../shared/pages/assets.ts';
import { nothingHere, refusalHandler } from '../shared/pages/refusal-page.tsx';
import { createAccessRequests } from './access-requests/create.ts';
import { accessRequestClients } from './access-requests/clients.ts';
import { statusEndpoint } from './access-requests/task.ts';
import { createTakePreview } from './access-requests/take-preview.ts';
import { createCallbackSender } from './callbacks/send-callback.ts';
import { createRefuseOutOfReach, reportUnknownApprovers } from './out-of-reach.ts';
import { createBreakGlass, createWithdraw } from './break-glass.ts';
import { createHandOver } from './hand-over.ts';
import { createAnswerAsRequester, createAskRequester } from './requester-questions.ts';
import { createExtendStage } from './extend-stage.ts';
import { createCastVote } from './cast-vote.ts';
import { examineChannels as examine, openChannels, startTelling } from './channels/channels.ts';
import { createRecipients } from './channels/recipients.ts';
import { slackDecisionsRouter } from './channels/slack-decisions.ts';
import { configuredSummaries } from './inbox/summary.tsx';
import { type Changes, startChanges } from './inbox/events.ts';
import { serviceWorker } from './inbox/push.ts';
import { inboxRouter } from './inbox/router.tsx';
import { startAskingResolvers } from './jobs/ask-resolvers.ts';
import { startLookingAtApprovers } from './jobs/look-at-approvers.ts';
import { startCarryingOutDue } from './jobs/carry-out-due.ts';
import { standIns, stillApprover } from './stand-ins.ts';
import { createPasskeys } from './passkeys/passkeys.ts';
import { refuseImpossiblePasskeys, relyingPartyOf } from './passkeys/relying-party.ts';
import { passkeyScript } from './passkeys/script.ts';
import { createCoveringGrants } from './grants/covering-grants.ts';
import { createDelegationStore } from './stores/delegation.store.ts';
import { createBreakGlassStore } from './stores/break-glass.store.ts';
import { createFigureStore } from './stores/figures.ts';
import { createGrantStore } from './stores/grant.store.ts';
import { createAccessRequestStore } from './stores/access-request.store.ts';
import { createPasskeyStore } from './stores/passkey.store.ts';
import { createPushSubscriptionStore } from './stores/push-subscription.store.ts';
import { configuredResolvers, createConsult } from './resolvers/resolvers.ts';
import { configuredReasons, configuredTerms, refuseUnfitTemplates } from './templates.ts';
import { configuredApprovers, decisionWebhookRouter } from './webhooks/decision-webhook.ts';

export { withHistory } from './stores/history.ts';

const CALLBACKS_AT_ONCE = 8;

const SECRETS = [
  'accessRequestToken',
  'accessRequestSigningKey',
  'callbackSecret',
  'decisionWebhookSecret',
  'sessionSecret',
  'oidcClientSecret',
] as const;
export type ApprovalsSecrets = Pick<Secrets, (typeof SECRETS)[number]>;

/** What the service has beside its configuration and its secrets. */
interface ApprovalsDeps extends Deps {
  /** Names that agents give themselves, by client id. Default: none is known. */
  readonly agentNames?: () => ReadonlyMap<string, string>;
}
const NO_NAMES: ReadonlyMap<string, string> = new Map();

/**
 * Starts the access request service with its inbox on `config.host` and `config.approvals.port`. Rejects with the listen error when the
 * port is taken, and with `ERR_CONFIG_INVALID` for an unusable signing key.
 */
export async function startApprovals(
  config: Config,
  secrets: ApprovalsSecrets,
  { clock, log, databaseUrl, live = unchanging(config), agentNames = () => NO_NAMES }: ApprovalsDeps,
): Promise<Running> {
  const time: Timing = { clock, limits: limitsOf(config) };
  const pool = createPool(databaseUrl, {
    applicationName: 'countersign approvals',
    role: ROLES.approvals,
    durable: config.mode === 'production',
    ...{ log, ...time },
  });
  const signIn = createSignIn({ config, site: 'approvals', secrets, pool, databaseUrl, log, ...time });
  const running: Running[] = [];
  let leave: (() => void) | undefined;
  const stop = async () => {
    leave?.();
    for (const one of running.reverse()) await one.stop();
    await signIn.close();
    await pool.end();
  };
  try {
    const parts = await createParts(config, secrets, { pool, databaseUrl, log, agentNames, ...time });
    const changes = await startChanges(parts);
    const app = await createApp(parts, secrets, { signIn, changes });
    const { urls, keyUrls } = config;
    const addresses = [urls.approvals, urls.accessRequests, keyUrls.approvals];
    const server = await listen(app, openTo(config, { port: config.approvals.port, urls: addresses }, parts));
    const consult = createConsult({ ...parts, resolvers: await configuredResolvers(config, clock) });
    running.push({ name: 'http', stop: () => server.close() }, changes, ...startJobs(parts));
    running.push(await startCallbacks(parts));
    running.push(await startTelling(parts));
    // Stops first: its requests abort at once, while sending a message may delay the shutdown.
    running.push(await startAskingResolvers({ ...parts, consult }));
    leave = live.follow(async (next) => {
      refuseUnfitTemplates(next, parts.people());
      reportUnknownApprovers(next, parts);
      refuseImpossiblePasskeys(next);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  log.info({ url: config.urls.approvals }, 'the access request service is listening');
  return { name: 'approvals', stop };
}

interface Own extends Timing, Deps, Required<Pick<ApprovalsDeps, 'agentNames'>> {
  readonly pool: Pool;
}

/** Throws `ERR_CONFIG_INVALID` when a template names approvers that the directory rules out. */
async function createParts(config: Config, secrets: ApprovalsSecrets, own: Own) {
  const { pool, log } = own;
  const store = createAccessRequestStore(pool);
  const people = openDirectory(config.directory, own);
  const passkeys = createPasskeys({
    store: createPasskeyStore(pool),
    party: relyingPartyOf(config.urls.approvals),
    log,
  });
  refuseImpossiblePasskeys(config);
  reportUnknownApprovers(config, { people, log });
  const grants = createGrantStore(pool);
  const still = stillApprover({ config, people });
  const known = () => knownPeople(config, people());
  const delegations = standIns(createDelegationStore(pool), still, people);
  return {
    ...own,
    config,
    needs: [databaseNeed(pool)],
    store,
    people,
    grants,
    still,
    coveringGrants: createCoveringGrants({ store: grants, people, still }),
    delegations,
    recipients: createRecipients({ config, people, delegations }),
    brokenGlass: createBreakGlassStore(pool),
    passkeys,
    figures: createFigureStore(pool),
    castVote: createCastVote({ store, grants, passkeys, people, log }),
    termsOf: configuredTerms(config, people()),
    known,
    refuseOutOfReach: createRefuseOutOfReach({ known, hasBreakGlass: config.approvals.breakGlass.enabled, log }),
    clients: await accessRequestClients(config, secrets),
    channels: await openChannels({
      ...{ config, people, sessionSecret: secrets.sessionSecret, ...own },
      subscriptions: createPushSubscriptionStore(pool),
    }),
  };
}

type Parts = Awaited<ReturnType<typeof createParts>>;

interface Site {
  readonly signIn: SignIn;
  readonly changes: Changes;
}

async function createApp(parts: Parts, secrets: ApprovalsSecrets, site: Site): Promise<Express> {
  const { config, people, channels, log } = parts;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(pageHeaders(config.urls.approvals), traced);
  app.use(healthRouter(parts.needs, parts));
  // Routes for programs come before the session, which they do not have.
  app.use('/access/v1', await createAccessRequests(config, secrets.accessRequestSigningKey, parts));
  const findApprover = configuredApprovers(config, people);
  app.use(decisionWebhookRouter({ ...parts, findApprover, secret: secrets.decisionWebhookSecret }));
  if (channels.slack !== undefined) app.use(slackDecisionsRouter({ ...parts, ...channels.slack }));
  app.use(assetsRouter(), passkeyScript());
  if (channels.push !== undefined) app.use(serviceWorker());
  app.use(...site.signIn.handlers, createInbox(parts, site));
  app.use(nothingHere);
  app.use(refusalHandler({ section: 'Approvals', log }));
  return app;
}

function createInbox(parts: Parts, { signIn: { personOf }, changes }: Site): Router {
  const { config, channels, brokenGlass, clock, limits, log } = parts;
  const { urls, identity, approvals } = config;
  return inboxRouter({
    ...parts,
    push: channels.push,
    mailbox: channels.mailbox,
    withdraw: createWithdraw(parts),
    takePreview: createTakePreview(parts),
    extendStage: createExtendStage(parts),
    handOver: createHandOver(parts),
    askRequester: createAskRequester(parts),
    answerAsRequester: createAnswerAsRequester(parts),
    breakGlass: createBreakGlass({ ...parts, settings: approvals.breakGlass, store: brokenGlass }),
    personOf,
    changes: changes.stream,
    verifyAccessToken: createPeopleVerifier(config, urls.approvals, { clock, limits, log }),
    hasClient: createClientDemand(identity, log),
    presetReasons: configuredReasons(config),
    summaries: configuredSummaries(config),
    scopes: approvals.scopes,
    url: urls.approvals,
    auditUrl: urls.audit,
  });
}

/** The periodic jobs. */
const startJobs = (parts: Parts): Running[] => [
  startWatchingNeeds(parts),
  startCarryingOutDue(parts),
  startLookingAtApprovers({ ...parts, hasBreakGlass: parts.config.approvals.breakGlass.enabled }),
  startForgetting({ ...parts, of: 'access requests', forget: (limit) => parts.store.forgetEnded(limit) }),
];

/** Sends callbacks to enforcement points. */
function startCallbacks(parts: Parts): Promise<Running> {
  const { pool, databaseUrl, config, clock, limits, log } = parts;
  return startOutbox({
    ...{ pool, clock, limits, log },
    listenUrl: databaseUrl,
    schema: 'approvals',
    channel: 'approvals_outbox',
    handlers: {
      callback: createCallbackSender({ ...parts, statusEndpointOf: (id) => statusEndpoint(id, config.urls) }),
    },
    concurrency: CALLBACKS_AT_ONCE,
  });
}

/** Whether each configured channel could tell people something now. */
export const examineChannels = (config: Config, limits: Limits) =>
  examine({ config, people: () => EMPTY_DIRECTORY, sessionSecret: '', clock: systemClock, limits });

if (isEntryScript(import.meta.url)) {
  await runDeployable('approvals', SECRETS, systemClock, ({ config, secrets, ...deps }) =>
    startApprovals(config, secrets, deps),
  );
}
