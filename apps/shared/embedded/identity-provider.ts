import { join } from 'node:path';
import type { lookup } from 'node:dns';
import type { Logger } from 'pino';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Config } from '../config/config.ts';
import { type LiveConfig, unchanging } from '../config/live.ts';
import type { DevelopmentSecrets } from '../config/development-secrets.ts';
import { createGuardedAgent } from '../http/guarded-agent.ts';
import { listen } from '../http/listen.ts';
import { isLoopbackHost } from '../http/known-hosts.ts';
import type { Running } from '../lifecycle.ts';
import { systemClock } from '../clock.ts';
import { limitsOf } from '../limits.ts';

/** Where the embedded issuer keeps what belongs to hosts. */
export const hostsFile = ({ stateDir }: Pick<Config, 'stateDir'>): string => join(stateDir, 'identity.json');

/** The warning for an operator whose provider is reachable from other machines. */
export const IN_THE_OPEN =
  'the identity provider of development asks for no password, and host lets other machines reach it: anyone there can sign in as anyone, and approve. Set host to 127.0.0.1, or identity.issuer to an OIDC issuer';

const CLEAN_EVERY_MS = 3_600_000;
/** More than a document may have, so that its own limit gives the reason. */
const MAX_ANSWER_BYTES = 64 * 1_024;
const ADVICE = 'if it is correct, add its network to identity.hosts.documentNetworks';

/** How documents of hosts are fetched in a test. */
interface Testing {
  readonly ca?: string;
  readonly lookup?: typeof lookup;
}

/**
 * Starts the OpenID provider of development with the people of the configuration, whose changes it follows. Its sign-in needs no password, so it refuses to start in
 * production. Rejects with the listen error when the port is taken.
 */
export async function startIdentityProvider(
  config: Config,
  { secrets, identity }: DevelopmentSecrets,
  log: Logger,
  { live = unchanging(config), ...testing }: Testing & { readonly live?: LiveConfig } = {},
): Promise<Running> {
  if (config.mode === 'production') {
    throw invalid('the embedded identity provider asks for no password; set identity.issuer to an OIDC issuer');
  }
  refuseRepeatedNames(config);
  const { createProvider, createIdentityApp, openHostState } = await loadProvider();
  const { maxRegistrations, documentNetworks } = config.identity.hosts;
  const timing = { clock: systemClock, limits: limitsOf(config) };
  const state = openHostState({
    file: hostsFile(config),
    maxRegistrations,
    clock: timing.clock,
    log,
  });
  state.clean();
  const guard = createGuardedAgent(documentNetworks, { maxAnswerBytes: MAX_ANSWER_BYTES, advice: ADVICE, ...testing });
  const webClientSecret = secrets.oidcClientSecret;
  const provider = createProvider({ config, identity, webClientSecret, state, guard, log, ...timing });
  provider.on('server_error', (_ctx, error) => log.error({ err: error }, 'the identity provider failed'));
  provider.on('backchannel.error', (_ctx, err) => log.warn({ err }, 'a sign-out could not be reported to the pages'));
  const http = await listen(createIdentityApp({ provider, config, state, log }), {
    host: config.host,
    port: config.identity.port,
    urls: [config.urls.issuer],
    ...timing,
  });
  const cancel = timing.clock.every(CLEAN_EVERY_MS, () => state.clean());
  log.info({ url: config.urls.issuer }, 'the identity provider is listening');
  if (!isLoopbackHost(config.host)) log.warn({ host: config.host, alarm: 'sign_in_without_password' }, IN_THE_OPEN);
  const leave = live.follow(async (next) => refuseRepeatedNames(next));
  const stop = async () => {
    leave();
    cancel();
    await http.close();
    await guard.agent.destroy();
  };
  return { name: 'identity provider', stop };
}

/** Every person is a client, beside those of the pages. */
function refuseRepeatedNames({ identity, approvals, audit }: Config): void {
  const names = identity.people.map(({ name }) => name);
  const clients = [approvals.clientId, audit.clientId];
  const repeated = names.find((name, index) => clients.includes(name) || names.indexOf(name) !== index);
  if (repeated !== undefined) throw invalid(`identity.people: the name ${repeated} is already in use`);
}

/**
 * Loads the provider only when it is needed, not with every command. On import, it warns about Node versions outside its own support
 * window. The warning would confuse new users, and tests cover our use on our version.
 */
async function loadProvider() {
  /* oxlint-disable no-console */
  const { warn } = console;
  console.warn = () => undefined;
  try {
    const { createProvider } = await import('./identity/provider.ts');
    const { createIdentityApp } = await import('./identity/http.ts');
    const { openHostState } = await import('./identity/host-state.ts');
    return { createProvider, createIdentityApp, openHostState };
  } finally {
    console.warn = warn;
  }
  /* eslint-enable no-console */
}

const invalid = (message: string) => new CountersignError('ERR_CONFIG_INVALID', message);
