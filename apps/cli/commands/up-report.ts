import type { Upstreams } from '../../../workflows/domain/upstream-ports.ts';
import { surveyTools } from '../../pdp/main.ts';
import type { Config } from '../../shared/config/config.ts';
import type { Logger } from '../../shared/logger.ts';
import { configuredPlaces, decidesItself, unmapped } from './lint/policies.ts';

/**
 * Says once, when the upstreams have listed their tools, which of these no policy permits in any case: every call of them is refused,
 * and their policy may have been forgotten. Never rejects.
 */
export async function reportForgottenTools({
  config,
  upstreams,
  log,
}: {
  config: Config;
  upstreams: Pick<Upstreams, 'tools'>;
  log: Logger;
}): Promise<void> {
  if (!decidesItself(config)) return;
  try {
    const { forgotten } = await surveyTools(configuredPlaces(config), unmapped(await upstreams.tools()));
    if (forgotten.length === 0) return;
    const message =
      `no policy permits ${forgotten.length === 1 ? 'this tool' : 'these tools'} in any case, so every call is refused: ` +
      `${forgotten.join(', ')}. Name them in ${config.pdp.policies}, or leave it so`;
    log.warn({ tools: forgotten }, message);
  } catch (error) {
    log.info({ err: error }, 'whether policies permit the tools cannot be said');
  }
}
