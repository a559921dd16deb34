import * as z from 'zod';
import type { Api } from './api.ts';
import { facts, moment } from './context.ts';

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
const person = z.looseObject({ issuer: z.string().optional(), subject: z.string(), name: z.string().optional() });
const answers = z.looseObject({
  didRun: z.looseObject({ answer: z.string(), why: z.string() }),
  call: z.looseObject({ callDigest: z.string(), why: z.string() }),
  whoDecided: z.looseObject({
    by: z.string(),
    people: z.array(person.extend({ inPlaceOf: person.optional() })),
    why: z.string(),
  }),
  terminalBeforeExecution: z.looseObject({
    verdict: z.string(),
    wasDecidedBeforeExecution: z.boolean(),
    why: z.string(),
  }),
  couldRunTwice: z.looseObject({ answer: z.string(), why: z.string() }),
  contradictions: z.array(z.string()),
});
const vote = z.looseObject({
  approver: person,
  castBy: person.optional(),
  actors: z.array(z.string()).optional(),
  verdict: z.string(),
  reason: z.string().optional(),
  via: z.string().optional(),
  stage: z.number().optional(),
  hasLapsed: z.boolean().optional(),
  at: z.string(),
});
const statement = z.looseObject({
  kind: z.string(),
  template: z.string().optional(),
  stages: z.array(z.looseObject({ name: z.string() })).optional(),
  votes: z.array(vote).default([]),
  breakGlass: z.looseObject({ by: person, reason: z.string(), via: z.string().optional(), at: z.string() }).optional(),
  cancelled: z
    .looseObject({
      by: person.optional(),
      client: z.string().optional(),
      reason: z.string().optional(),
      via: z.string().optional(),
      at: z.string().optional(),
    })
    .optional(),
});
/** Instants, votes and policies of the sealed text; the rest of it is for `--json`. */
const sealed = z.looseObject({
  createdAt: z.string(),
  decisions: z.array(
    z.looseObject({
      kind: z.string(),
      policyVersion: z.string().optional(),
      policies: z.array(z.string()).optional(),
      evaluatedAt: z.string(),
    }),
  ),
  accessRequests: z.array(z.looseObject({ approvedAt: z.string().optional(), statement: statement.optional() })),
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

/** A record by its reference, task or decision: the kind shows in its form, and what has no form of its own is a decision. */
export async function findOutcomeRecord(api: Api, id: string): Promise<OutcomeRecord> {
  const path = id.startsWith('out_') ? '' : id.startsWith('tsk_') ? 'by-task/' : 'by-decision/';
  return api.get(`/outcome-records/${path}${encodeURIComponent(id)}`, outcomeRecord);
}

/** The records of a call, by the keyed digest that names it. */
export async function findRecordsOfCall(api: Api, callDigest: string): Promise<readonly OutcomeRecord[]> {
  return (await api.get(`/outcome-records/by-call/${callDigest}`, outcomeRecords)).items;
}

/** Whether what the record says holds: its seal, and everything else that the tables know of the call. */
export const isReliable = (one: OutcomeRecord) => one.sealIntact && one.answers?.contradictions.length === 0;

/** The five questions of an auditor with their answers, when things happened, and where the rest can be read. */
export function outcomeInWords(one: OutcomeRecord, auditUrl: string): string {
  const { answers: found } = one;
  const terminal = found?.terminalBeforeExecution;
  const about = facts([
    ['Tool', `${one.tool}, for ${one.requester}`],
    ['Did it run?', found && `${found.didRun.answer}. ${found.didRun.why}`],
    ['Who decided?', found && whoDecided(found.whoDecided)],
    ['Which call?', found && `${found.call.callDigest}. ${found.call.why}`],
    [
      'Decided first?',
      terminal && `${terminal.wasDecidedBeforeExecution ? 'yes' : 'not shown'} (${terminal.verdict}). ${terminal.why}`,
    ],
    ['Could it run twice?', found && `${found.couldRunTwice.answer}. ${found.couldRunTwice.why}`],
    ...happenings(one),
    ...statedIn(one),
    ...policiesIn(one),
    ['Task', one.taskId],
    ['Record', one.outcomeRef],
    ['Seal', one.sealIntact ? 'intact' : 'BROKEN: the text of the record was changed'],
    ['Page', `${auditUrl}/outcome-records/${one.outcomeRef}`],
    ...(found?.contradictions.map((text) => ['Contradiction', text] as const) ?? []),
  ]);
  return `${one.headline}\n${about}`;
}

const nameOf = ({ name, subject }: z.infer<typeof person>) => (name === undefined ? subject : `${name} (${subject})`);

function whoDecided({ by, people, why }: z.infer<typeof answers>['whoDecided']): string {
  const names = people.map((one) => nameOf(one) + (one.inPlaceOf ? ` for ${nameOf(one.inPlaceOf)}` : ''));
  return `${[...names, ...(names.length === 0 || by === 'break_glass' ? [by.replaceAll('_', ' ')] : [])].join(', ')}. ${why}`;
}

/** What the access request service states that people did, a line each, and whose word that is. */
function statedIn({ record }: OutcomeRecord) {
  return (record?.accessRequests ?? []).flatMap(({ statement: stated }) => {
    if (stated?.kind !== 'stated') return [];
    const { template, breakGlass, cancelled } = stated;
    return [
      ['Stated', 'by the access request service, whose word these are: template, votes, break-glass, cancellation'],
      ...(template === undefined ? [] : [['Template', template]]),
      ...votesIn(stated),
      ...(breakGlass === undefined ? [] : [['Break-glass', deed(breakGlass.by, breakGlass)]]),
      ...(cancelled === undefined ? [] : [['Given up', deed(cancelled.by ?? cancelled.client, cancelled)]]),
    ] as (readonly [string, string])[];
  });
}

function votesIn({ votes, stages }: z.infer<typeof statement>) {
  return votes.map(({ approver, castBy, actors, verdict, stage, hasLapsed, ...rest }) => {
    const where = stage === undefined ? [] : [`stage ${stage} ${stages?.[stage - 1]?.name ?? ''}`.trim()];
    const what = [verdict, ...where, ...(hasLapsed === true ? ['did not count any more'] : [])];
    const place = castBy === undefined ? '' : ` for ${whoIs(approver)}`;
    const through = actors === undefined ? '' : ` (acting for them: ${actors.join(', ')})`;
    return ['Vote', deed(`${whoIs(castBy ?? approver)}${place}${through}`, rest, what)] as const;
  });
}

/** Who did something, what, by which way, when and why. */
function deed(
  by: z.infer<typeof person> | string | undefined,
  {
    via,
    at,
    reason,
  }: { readonly via?: string | undefined; readonly at?: string | undefined; readonly reason?: string | undefined },
  what: readonly string[] = [],
): string {
  const when = at === undefined ? [] : [moment(at, 'milliseconds')];
  const facts = [...what, ...(via === undefined ? [] : [via]), ...when].join(', ');
  const who = typeof by === 'string' ? by : by === undefined ? 'it is not stated by whom' : whoIs(by);
  return `${who}: ${facts}${because(reason)}`;
}

/** A person with their issuer, without which a subject is not one of a kind. */
const whoIs = ({ issuer, ...one }: z.infer<typeof person>) =>
  issuer === undefined ? nameOf(one) : `${nameOf(one)} of ${issuer}`;

const because = (reason: string | undefined) => (reason === undefined ? '' : `; because: ${reason}`);

function policiesIn({ record }: OutcomeRecord) {
  return (record?.decisions ?? []).map(({ kind, policies, policyVersion, evaluatedAt }) => {
    const by = policies === undefined ? 'no policy is named' : `by ${policies.join(', ')}`;
    const version = policyVersion === undefined ? '' : ` of ${policyVersion}`;
    return ['Policy', `${kind}, ${by}${version}, ${moment(evaluatedAt, 'milliseconds')}`] as const;
  });
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
