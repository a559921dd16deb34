import * as z from 'zod';
import type { Api } from './api.ts';
import { facts, moment } from './context.ts';

const optionalText = z.string().optional();

/** The members of a record that lists show. */
export const outcomeSummary = z.looseObject({
  outcomeRef: z.string(),
  taskId: z.string(),
  tool: z.string(),
  requester: z.string(),
  state: z.string(),
  disposition: optionalText,
  callDigest: z.string(),
  recordedAt: z.string(),
  sealIntact: z.boolean(),
});
const person = z.looseObject({ issuer: optionalText, subject: z.string(), name: optionalText });
const reasoned = z.looseObject({ why: z.string() });
const answers = z.looseObject({
  didRun: reasoned.extend({ answer: z.string() }),
  call: reasoned.extend({ callDigest: z.string() }),
  whoDecided: reasoned.extend({
    by: z.string(),
    people: z.array(person.extend({ inPlaceOf: person.optional() })),
  }),
  terminalBeforeExecution: reasoned.extend({ verdict: z.string(), wasDecidedBeforeExecution: z.boolean() }),
  couldRunTwice: reasoned.extend({ answer: z.string() }),
  contradictions: z.array(z.string()),
});
/** How, when and why a person did something. */
const deed = z.looseObject({ via: optionalText, at: optionalText, reason: optionalText });
const vote = deed.extend({
  approver: person,
  castBy: person.optional(),
  actors: z.array(z.string()).optional(),
  asRequester: z.boolean().optional(),
  verdict: z.string(),
  passkey: z.looseObject({}).optional(),
  grant: optionalText,
  preview: optionalText,
  stage: z.number().optional(),
  hasLapsed: z.boolean().optional(),
});
const statement = z.looseObject({
  kind: z.string(),
  template: optionalText,
  stages: z.array(z.looseObject({ name: z.string() })).optional(),
  votes: z.array(vote).default([]),
  extensions: z.array(deed.extend({ by: person, stage: z.number(), to: z.string() })).default([]),
  handOvers: z.array(deed.extend({ by: person, to: z.string(), revokedAt: optionalText })).default([]),
  questions: z
    .array(
      deed.extend({
        by: person,
        ...{ onBehalfOf: optionalText, question: z.string(), answer: z.looseObject({ text: z.string() }).optional() },
      }),
    )
    .default([]),
  breakGlass: deed.extend({ by: person }).optional(),
  cancelled: deed.extend({ by: person.optional(), client: optionalText }).optional(),
});
/** Instants, votes and policies of the sealed text. `--json` shows the rest too. */
const sealed = z.looseObject({
  createdAt: z.string(),
  decisions: z.array(
    z.looseObject({
      kind: z.string(),
      policyVersion: optionalText,
      policies: z.array(z.string()).optional(),
      evaluatedAt: z.string(),
    }),
  ),
  accessRequests: z.array(z.looseObject({ approvedAt: optionalText, statement: statement.optional() })),
  claim: z.looseObject({ claimedAt: z.string() }).optional(),
  invocation: z.looseObject({ beganAt: z.string(), notSentAt: optionalText }).optional(),
});
const outcomeRecord = outcomeSummary.extend({
  headline: z.string(),
  answers: answers.optional(),
  record: sealed.optional(),
});
const outcomeRecords = z.object({ items: z.array(outcomeRecord) });

/** A record with every member that the audit service sends. The members above are validated. */
export type OutcomeRecord = z.infer<typeof outcomeRecord>;

/** Finds a record by its reference, task or decision. References and tasks have a prefix; any other id is a decision. */
export async function findOutcomeRecord(api: Api, id: string): Promise<OutcomeRecord> {
  const path = id.startsWith('out_') ? '' : id.startsWith('tsk_') ? 'by-task/' : 'by-decision/';
  return api.get(`/outcome-records/${path}${encodeURIComponent(id)}`, outcomeRecord);
}

/** The records of a call, by the keyed digest that names it. */
export async function findRecordsOfCall(api: Api, callDigest: string): Promise<readonly OutcomeRecord[]> {
  return (await api.get(`/outcome-records/by-call/${callDigest}`, outcomeRecords)).items;
}

/** Whether the seal of the record is intact, and no table contradicts the record. */
export const isReliable = (one: OutcomeRecord) => one.sealIntact && one.answers?.contradictions.length === 0;

/** The five questions of an auditor with their answers, the instants of the call, and the address of its page. */
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

/** The statement of the access request service about people, with one line for each deed. */
function statedIn({ record }: OutcomeRecord) {
  return (record?.accessRequests ?? []).flatMap(({ statement: stated }) => {
    if (stated?.kind !== 'stated') return [];
    const { template, extensions, handOvers, questions, breakGlass, cancelled } = stated;
    return [
      [
        'Stated',
        'by the access request service: template, votes, more time, hand-overs, questions, break-glass and cancellation',
      ],
      ...(template === undefined ? [] : [['Template', template]]),
      ...votesIn(stated),
      ...extensions.map(({ by, stage, to, ...one }) => [
        'More time',
        deedInWords(by, one, [`stage ${stage}`, `until ${to}`]),
      ]),
      ...handOvers.map(({ by, to, revokedAt, ...one }) => [
        'Handed over',
        deedInWords(by, one, [`to ${to}`, ...(revokedAt === undefined ? [] : [`taken back ${revokedAt}`])]),
      ]),
      ...questions.map(({ by, onBehalfOf, question, answer, ...one }) => [
        'Question',
        deedInWords(by, one, [
          ...(onBehalfOf === undefined ? [] : [`in the place of ${onBehalfOf}`]),
          `asked the requester: ${question}`,
          answer === undefined ? 'not answered' : `answered: ${answer.text}`,
        ]),
      ]),
      ...(breakGlass === undefined ? [] : [['Break-glass', deedInWords(breakGlass.by, breakGlass)]]),
      ...(cancelled === undefined ? [] : [['Given up', deedInWords(cancelled.by ?? cancelled.client, cancelled)]]),
    ] as (readonly [string, string])[];
  });
}

function votesIn({ votes, stages }: z.infer<typeof statement>) {
  return votes.map(({ approver, castBy, actors, asRequester, verdict, grant, preview, passkey, stage, ...rest }) => {
    const where = stage === undefined ? [] : [`stage ${stage} ${stages?.[stage - 1]?.name ?? ''}`.trim()];
    const what = [
      verdict,
      ...(asRequester === true ? ['as the requester'] : []),
      ...(passkey === undefined ? [] : ['with a passkey']),
      ...where,
      ...(grant === undefined ? [] : [`by ${grant}`]),
      ...(preview === undefined ? [] : [`beside the preview ${preview}`]),
      ...(rest.hasLapsed === true ? ['no longer counted'] : []),
    ];
    const place = castBy === undefined ? '' : ` for ${whoIs(approver)}`;
    const through = actors === undefined ? '' : ` (acting for them: ${actors.join(', ')})`;
    return ['Vote', deedInWords(`${whoIs(castBy ?? approver)}${place}${through}`, rest, what)] as const;
  });
}

/** Who did something, what, how, when and why. */
function deedInWords(
  by: z.infer<typeof person> | string | undefined,
  { via, at, reason }: z.infer<typeof deed>,
  what: readonly string[] = [],
): string {
  const when = at === undefined ? [] : [moment(at, 'milliseconds')];
  const parts = [...what, ...(via === undefined ? [] : [via]), ...when].join(', ');
  const who = typeof by === 'string' ? by : by === undefined ? 'an unnamed person' : whoIs(by);
  return `${who}: ${parts}${reason === undefined ? '' : `; because: ${reason}`}`;
}

/** A person with their issuer, because a subject is unique only there. */
const whoIs = ({ issuer, ...one }: z.infer<typeof person>) =>
  issuer === undefined ? nameOf(one) : `${nameOf(one)} of ${issuer}`;

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
