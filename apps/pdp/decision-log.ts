import { closeSync, fchmodSync, fstatSync, openSync } from 'node:fs';
import { destination, type Logger } from 'pino';
import * as z from 'zod';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Clock } from '../shared/clock.ts';
import type { PolicyAnswer } from './engine/policy-engine.ts';

/** One decision. */
export interface Decided {
  /** Without `context.approval`, which is a credential. */
  readonly request: EvaluationRequest;
  /** The enforcement point, as the PDP authenticated it. */
  readonly requester: string;
  readonly answer: PolicyAnswer;
  /** Template of the approval that was presented and verified. */
  readonly approvedFor: string | undefined;
}

/** A file that gets one line of JSON for every decision, so that changed policies can be tried on real calls. */
export type DecisionLog = ReturnType<typeof openDecisionLog>;

/** One line. Its request may have arguments of calls, so only the owner can read the file. */
export const decisionLine = z.object({
  time: z.iso.datetime(),
  policy_version: z.string(),
  requester: z.string(),
  request: z.record(z.string(), z.unknown()),
  /** The verified approval that came with the request. */
  approval: z.object({ template: z.string() }).optional(),
  decision: z.boolean(),
  /** What the policies said: `deny` is final, `requestable` can be cured by an approval, `failed` could not be evaluated. */
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

/** Throws `ERR_CONFIG_INVALID` if the file cannot be written at the start. */
export function openDecisionLog(file: string, { clock, log }: { clock: Clock; log: Logger }) {
  claim(file);
  // With `minLength` 0, the stream would never write again once `maxLength` is reached.
  const stream = destination({ dest: file, sync: false, mode: OWNER_ONLY, minLength: 1, maxLength: MAX_WAITING_BYTES });
  let lost = 0;
  const reportLoss = (err?: unknown) => {
    if (lost++ > 0) return;
    log.error(
      { err, alarm: 'decision_log_incomplete', file },
      'decisions are missing in the decision log: make room on the disk',
    );
  };
  stream.on('error', reportLoss);
  stream.on('drop', () => {
    reportLoss();
    stream.flush();
  });
  stream.on('write', () => {
    if (lost > 0) log.info({ file }, 'the decision log is written again');
    lost = 0;
  });
  return {
    /** Writes soon. Leaves out what cannot be written. Neither throws nor waits, so that the log never affects an answer. */
    note(policyVersion: string, decided: Decided): void {
      const line = lineOf(policyVersion, decided, new Date(clock.now()));
      stream.write(`${JSON.stringify(line)}\n`);
    },
    /** Continues in a new file of the same name, after the old one was moved away. */
    reopen: () => stream.reopen(),
    async close(): Promise<void> {
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

/** Makes the file, and makes an existing file readable for its owner alone. */
function claim(file: string): void {
  try {
    const descriptor = openSync(file, 'a', OWNER_ONLY);
    try {
      // A pipe or a device keeps its mode.
      if (fstatSync(descriptor).isFile()) fchmodSync(descriptor, OWNER_ONLY);
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    throw new CountersignError(
      'ERR_CONFIG_INVALID',
      `The decision log ${file} cannot be written. Create its folder, or correct pdp.decisionLog.`,
      { cause },
    );
  }
}
