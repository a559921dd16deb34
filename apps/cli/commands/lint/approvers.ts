import { pino } from 'pino';
import { CountersignError } from '../../../../workflows/domain/errors.ts';
import { templateProblems } from '../../../shared/approvers/stages.ts';
import type { Config } from '../../../shared/config/config.ts';
import { formatPath } from '../../../shared/config/problems.ts';
import { systemClock } from '../../../shared/clock.ts';
import { openDirectory } from '../../../shared/directory/directory.ts';
import type { Finding } from './finding.ts';

/** What would keep the access request service from starting: who may decide, held against the directory as it is now. */
export function lintApprovers({ approvals, directory }: Pick<Config, 'approvals' | 'directory'>): Finding[] {
  const wrong = (about: string, message: string): Finding => ({ severity: 'error', rule: 'approvers', about, message });
  try {
    const people = openDirectory(directory, { clock: systemClock, log: pino({ enabled: false }) });
    return templateProblems(approvals, people()).map(({ path, message }) => wrong(formatPath(path), message));
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return [wrong('directory.file', error.message.replace(/^directory: /, ''))];
  }
}
