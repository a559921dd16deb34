import { pino } from 'pino';
import { examineAuthority } from '../../../gateway/main.ts';
import { systemClock } from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import { attempt, fail, ok, warn, type Finding } from './check.ts';
import { checkHealth } from './services.ts';

/** Whether the PDP is who it says, can be trusted with what it is sent, and denies what makes no sense (PRJ-40). */
export async function checkPdp(config: Config, token: string | undefined): Promise<Finding[]> {
  const name = 'pdp';
  if (token === undefined) {
    return [warn(name, 'not asked: the PDP token is not known here', 'set COUNTERSIGN_PDP_TOKEN and run it again')];
  }
  const problems = await authorityOf(config, token).pdp();
  if (problems.length === 0) return [ok(name, `${config.authority.pdp.url}, with access requests`)];
  return problems.map(({ weight, what, nextStep }) => (weight === 'fatal' ? fail : warn)(name, what, nextStep));
}

/** Whether the access request service is there: our own by its word, somebody else's by answering at all. */
export function checkAccessRequests(config: Config): Promise<Finding> {
  const name = 'approvals';
  const { urls, authority } = config;
  if (authority.accessRequests.url?.startsWith(urls.approvals) === true)
    return checkHealth(name, urls.approvals, config);
  return attempt(name, 'start the access request service, or mend accessRequests.url', async () => {
    await authorityOf(config, '').accessRequests();
    return ok(name, `${authority.accessRequests.url ?? 'the service that the PDP names'} answers`);
  });
}

const authorityOf = (config: Config, pdpToken: string) =>
  examineAuthority(config, { pdpToken }, { clock: systemClock, log: pino({ level: 'silent' }) });
