import { closeSync, fchmodSync, fstatSync, openSync } from 'node:fs';
import { destination, type Logger } from 'pino';
import * as z from 'zod';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Clock } from '../shared/clock.ts';
import type { Decided } from './decide.ts';

/** A file that gets one line of JSON for every decision, so that changed policies can be tried on real calls. */
export interface DecisionLog {
  /** Writes soon; what cannot be written is left out. Neither throws nor waits: a log is no reason to answer late or otherwise. */
  note(policyVersion: string, decided: Decided): void;
  /** Goes on in a new file of the same name, after the old one was moved away. */
  reopen(): void;
  close(): Promise<void>;
}

/** One line. Its request may hold arguments of calls, so the file is readable for its owner alone. */
export const decisionLine = z.object({
  time: z.iso.datetime(),
  policy_version: z.string(),
  requester: z.string(),
  request: z.record(z.string(), z.unknown()),
  /** What a verified approval that came with the request was for. */
  approval: z.object({ template: z.string() }).optional(),
  decision: z.boolean(),
  /** What policy said: `deny` is final, `requestable` can be cured by an approval, `failed` could not be evaluated. */
  outcome: z.enum(['permit', 'deny', 'requestable', 'failed']),
  reason: z.string().optional(),
  template: z.string().optional(),
  /** Determining policies, by `@id`. */
  policies: z.array(z.string()),
});
export type DecisionLine = z.infer<typeof decisionLine>;

/** What may wait for a slow or full disk. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;
const OWNER_ONLY = 0o600;

/** Throws `ERR_CONFIG_INVALID` when the file cannot be written at the start. */
export function openDecisionLog(file: string, { clock, log }: { clock: Clock; log: Logger }): DecisionLog {
  claim(file);
  // With `minLength` 0 nothing that waits would ever be written again once so much waits that all else is left out.
  const stream = destination({ dest: file, sync: false, mode: OWNER_ONLY, minLength: 1, maxLength: MAX_WAITING_BYTES });
  let lost = 0;
  const tell = (err?: unknown) => {
    if (lost++ > 0) return;
    log.error(
      { err, alarm: 'decision_log_incomplete', file },
      'decisions are missing in the decision log: make room on the disk',
    );
  };
  stream.on('error', tell);
  stream.on('drop', () => {
    tell();
    stream.flush();
  });
  stream.on('write', () => {
    if (lost > 0) log.info({ file }, 'the decision log is written again');
    lost = 0;
  });
  return {
    note(policyVersion, decided) {
      const line = lineOf(policyVersion, decided, new Date(clock.now()));
      stream.write(`${JSON.stringify(line)}\n`);
    },
    reopen: () => stream.reopen(),
    close: async () => {
      await new Promise<void>((resolve) => {
        stream.once('close', resolve);
        // What cannot be written now never will be.
        stream.once('error', () => resolve());
        stream.end();
      });
      stream.destroy();
    },
  };
}

function lineOf(policyVersion: string, { request, requester, answer, approvedFor }: Decided, at: Date): DecisionLine {
  return {
    time: at.toISOString(),
    policy_version: policyVersion,
    requester,
    request: { ...request },
    ...(approvedFor !== undefined && { approval: { template: approvedFor } }),
    decision: answer.kind === 'permit',
    outcome: answer.kind,
    ...(answer.kind !== 'permit' && { reason: answer.reason }),
    ...(answer.kind === 'requestable' && { template: answer.template }),
    policies: answer.kind === 'failed' ? [] : [...answer.policies],
  };
}

/** Makes the file, and takes it from whoever could read it before. */
function claim(file: string): void {
  try {
    const descriptor = openSync(file, 'a', OWNER_ONLY);
    try {
      // A pipe or a device belongs to somebody else.
      if (fstatSync(descriptor).isFile()) fchmodSync(descriptor, OWNER_ONLY);
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    throw new CountersignError(
      'ERR_CONFIG_INVALID',
      `The decision log ${file} cannot be written. Make its folder, or mend pdp.decisionLog.`,
      { cause },
    );
  }
}
