import { examineChannels } from '../../../approvals/main.ts';
import type { Config } from '../../../shared/config/config.ts';
import { limitsOf } from '../../../shared/limits.ts';
import { fail, type Finding, ok, reason } from './check.ts';

/** Whether the channels that tell people about requests accept what the configuration says. Sends nothing. */
export async function checkChannels(config: Config): Promise<Finding[]> {
  const limits = limitsOf(config);
  try {
    const found = await examineChannels(config, { ...limits, webhookMs: limits.examinationMs });
    return found.map(({ name, failure }) =>
      failure === undefined
        ? ok(`channel ${name}`, 'accepts the settings')
        : fail(`channel ${name}`, reason(failure), `correct approvals.channels.${name}, or what it needs`),
    );
  } catch (error) {
    return [fail('channels', reason(error), 'correct approvals.channels')];
  }
}
