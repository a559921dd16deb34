import * as z from 'zod';
import type { Api } from './api.ts';
import { facts, moment } from './output.ts';

/** What lists show of a record. */
export const outcomeSummary = z.looseObject({
  outcomeRef: z.string(),
  taskId: z.string(),
  tool: z.string(),
  requester: z.string(),
  state: z.string(),
  disposition: z.string().optional(),
  callDigest: z.string(),
  recordedAt: z.string(),
  sealIntact: z.boolean(),
});
const answers = z.looseObject({
  didRun: z.looseObject({ answer: z.string(), why: z.string() }),
  call: z.looseObject({ callDigest: z.string(), why: z.string() }),
  terminalBeforeExecution: z.looseObject({
    verdict: z.string(),
    wasDecidedBeforeExecution: z.boolean(),
    why: z.string(),
  }),
  couldRunTwice: z.looseObject({ answer: z.string(), why: z.string() }),
  contradictions: z.array(z.string()),
});
/** The instants of the sealed text; the rest of it is for `--json`. */
const sealed = z.looseObject({
  createdAt: z.string(),
  accessRequests: z.array(z.looseObject({ approvedAt: z.string().optional() })),
  claim: z.looseObject({ claimedAt: z.string() }).optional(),
  invocation: z.looseObject({ beganAt: z.string(), notSentAt: z.string().optional() }).optional(),
});
const outcomeRecord = outcomeSummary.extend({
  headline: z.string(),
  answers: answers.optional(),
  record: sealed.optional(),
});
const outcomeRecords = z.object({ items: z.array(outcomeRecord) });

/** A record as the audit service answers it: nothing of it is left out, and what is shown here has been checked. */
export type OutcomeRecord = z.infer<typeof outcomeRecord>;

/** The kind of a reference shows in its form; what has no form of its own is a decision. */
export async function findOutcomeRecords(api: Api, id: string): Promise<readonly OutcomeRecord[]> {
  const digest = /^(?:sha-256:)?([0-9a-f]{64})$/.exec(id)?.[1];
  if (digest !== undefined) return (await api.get(`/outcome-records/by-call/sha-256:${digest}`, outcomeRecords)).items;
  const path = id.startsWith('out_') ? '' : id.startsWith('tsk_') ? 'by-task/' : 'by-decision/';
  return [await api.get(`/outcome-records/${path}${encodeURIComponent(id)}`, outcomeRecord)];
}

/** Whether what the record says holds: its seal, and everything else that the tables know of the call. */
export const isReliable = (one: OutcomeRecord) => one.sealIntact && one.answers?.contradictions.length === 0;

/** The four questions of an auditor with their answers, when things happened, and where the rest can be read. */
export function outcomeInWords(one: OutcomeRecord, auditUrl: string): string {
  const { answers: found } = one;
  const terminal = found?.terminalBeforeExecution;
  const about = facts([
    ['Tool', `${one.tool}, for ${one.requester}`],
    ['Did it run?', found && `${found.didRun.answer}. ${found.didRun.why}`],
    ['Which call?', found && `${found.call.callDigest}. ${found.call.why}`],
    [
      'Decided first?',
      terminal && `${terminal.wasDecidedBeforeExecution ? 'yes' : 'not shown'} (${terminal.verdict}). ${terminal.why}`,
    ],
    ['Could it run twice?', found && `${found.couldRunTwice.answer}. ${found.couldRunTwice.why}`],
    ...happenings(one),
    ['Task', one.taskId],
    ['Record', one.outcomeRef],
    ['Seal', one.sealIntact ? 'intact' : 'BROKEN: the text of the record was changed'],
    ['Page', `${auditUrl}/outcome-records/${one.outcomeRef}`],
    ...(found?.contradictions.map((text) => ['Contradiction', text] as const) ?? []),
  ]);
  return `${one.headline}\n${about}`;
}

function happenings({ record, state, disposition, recordedAt }: OutcomeRecord) {
  const { claim, invocation } = record ?? {};
  const at = (instant: string | undefined) => instant && moment(instant, 'milliseconds');
  return [
    ['Called', at(record?.createdAt)],
    ['Approved', at(record?.accessRequests.find(({ approvedAt }) => approvedAt !== undefined)?.approvedAt)],
    ['Claimed', at(claim?.claimedAt)],
    ['Sent', invocation?.notSentAt === undefined ? at(invocation?.beganAt) : 'never'],
    [
      'Ended',
      `${moment(recordedAt, 'milliseconds')} as ${state}${disposition === undefined ? '' : ` (${disposition})`}`,
    ],
  ] as const;
}
