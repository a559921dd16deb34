import { readFileSync } from 'node:fs';
import { examineChannels } from '../../../approvals/main.ts';
import type { Config } from '../../../shared/config/config.ts';
import { readDirectory } from '../../../shared/directory/directory.ts';
import { needsSmtpUtf8 } from '../../../shared/directory/mail-address.ts';
import { limitsOf } from '../../../shared/limits.ts';
import { fail, type Finding, ok, reason, warn } from './check.ts';

/** Whether the channels that tell people about requests accept what the configuration says. Sends nothing. */
export async function checkChannels(config: Config): Promise<Finding[]> {
  const limits = limitsOf(config);
  try {
    const found = await examineChannels(config, { ...limits, webhookMs: limits.examinationMs });
    return found.flatMap(({ name, failure }) => [
      failure === undefined
        ? ok(`channel ${name}`, 'accepts the settings')
        : fail(`channel ${name}`, reason(failure), `correct approvals.channels.${name}, or what it needs`),
      ...(name === 'email' ? checkAddresses(config.directory) : []),
    ]);
  } catch (error) {
    return [fail('channels', reason(error), 'correct approvals.channels')];
  }
}

/** One finding for each active person of the directory whom mail cannot reach, or reaches by some servers only. */
function checkAddresses({ file, subjectAttribute }: Config['directory']): Finding[] {
  if (file === undefined) return [];
  const { people } = readDirectory(readFileSync(file, 'utf8'), subjectAttribute);
  return people.flatMap(({ subject, isActive, email, hasUnusableEmail }) => {
    if (!isActive) return [];
    const name = `mail to ${subject}`;
    if (hasUnusableEmail)
      return [warn(name, 'no mail can be sent to the address in the directory', 'correct it there')];
    if (email === undefined || !needsSmtpUtf8(email)) return [];
    return [warn(name, 'the address needs a mail server with SMTPUTF8', 'use an address in ASCII if yours has none')];
  });
}
