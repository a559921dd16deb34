import { join } from 'node:path';
import { destination, pino } from 'pino';
import { startApprovals } from '../../apps/approvals/main.ts';
import { startAudit } from '../../apps/audit/main.ts';
import { connectUpstreams, startGateway } from '../../apps/gateway/main.ts';
import { startPdp } from '../../apps/pdp/main.ts';
import type { Config } from '../../apps/shared/config/config.ts';
import type { DevelopmentSecrets } from '../../apps/shared/config/development-secrets.ts';
import { startIdentityProvider } from '../../apps/shared/embedded/identity-provider.ts';
import { type Running, stopAll } from '../../apps/shared/lifecycle.ts';
import { startWorker } from '../../apps/worker/main.ts';
import type { Servers } from './infrastructure.ts';
import type { StackOptions } from './stack-config.ts';
import { systemTime } from './time.ts';

/**
 * Starts the whole product in this process, and answers how to stop it. A test whose promise is not about processes
 * saves the time in which Node loads the product.
 */
export async function startHere(
  config: Config,
  { identity, secrets }: DevelopmentSecrets,
  { environment }: Servers,
  { upstreams = 'shared' }: Pick<StackOptions, 'upstreams'>,
): Promise<() => Promise<void>> {
  const file = join(config.stateDir, 'logs', 'countersign.log');
  const log = pino({ name: 'countersign' }, destination({ dest: file, mkdir: true, sync: true }));
  const running: Running[] = [];
  const stop = () => stopAll(running);
  const own = { ...systemTime, log, databaseUrl: environment.DATABASE_URL };
  const connect = () => {
    const connected = connectUpstreams(config, own);
    running.push({ name: 'upstreams', stop: () => connected.close() });
    return connected;
  };
  try {
    const first = connect();
    const ofWorker = upstreams === 'shared' ? first : connect();
    running.push(await startIdentityProvider(config, { identity, secrets }, log));
    running.push(await startPdp(config, secrets, own));
    running.push(await startApprovals(config, secrets, own));
    running.push(await startAudit(config, secrets, own));
    running.push(await startGateway(config, secrets, { ...own, upstreams: first }));
    const temporalAddress = environment.TEMPORAL_ADDRESS;
    running.push(await startWorker(config, secrets, { ...own, temporalAddress, upstreams: ofWorker }));
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}
