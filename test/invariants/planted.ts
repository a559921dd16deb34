import { TEST_SEALS } from '../support/gated-calls.ts';
import type { HonestCalls } from './honest-calls.ts';
import type { Evidence } from './invariant.ts';

/** One violation: statements that create it with all fences down, or evidence of it. */
export interface Planted {
  readonly sql?: readonly string[];
  readonly evidence?: Partial<Evidence>;
}

const SOON = `clock_timestamp() + interval '1 h'`;
const LONG_AGO = `clock_timestamp() - interval '1 h'`;
const KEEP_NO_CHECKS = ['state_known', 'unclaimed', 'claimed'].map(
  (name) => `ALTER TABLE gateway.gated_call DROP CONSTRAINT gated_call_${name}`,
);
const without = (table: string, constraint: string) => `ALTER TABLE ${table} DROP CONSTRAINT ${constraint} CASCADE`;
const call = (id: string, change: string) => `UPDATE gateway.gated_call SET ${change} WHERE id = '${id}'`;
const rowsOf = (table: string, id: string, change: string) =>
  `UPDATE gateway.${table} SET ${change} WHERE gated_call_id = '${id}'`;
const less = (table: string, id: string) => `DELETE FROM gateway.${table} WHERE gated_call_id = '${id}'`;
/** Another row like the existing one, except for these members. */
const twin = (table: string, where: string, members: string) =>
  `INSERT INTO ${table} SELECT (jsonb_populate_record(t, ${members})).* FROM ${table} t WHERE ${where}`;
const twinOf = (table: string, id: string, members = `'{}'`) =>
  twin(`gateway.${table}`, `t.gated_call_id = '${id}'`, members);
/** The open outbox rows have a generated key, so another row is written out. */
const outboxRow = (subject: string, at: string) =>
  `INSERT INTO gateway.outbox (kind, subject_id, available_at) VALUES ('signal_workflow', '${subject}', ${at})`;

/** Another open access request, which equals the one with the first id except for these members. */
const openRequest = (members: string) =>
  twin(
    'approvals.access_request',
    't.id = (SELECT min(id) FROM approvals.access_request)',
    `jsonb_build_object('id', 'arq_planted', 'idempotency_key', 'planted', 'evaluation_id', 'planted', 'token_jti', 'planted',
      'status', 'pending', 'ended_at', NULL, 'approval_id', NULL, 'approved_at', NULL, 'approved_until', NULL,
      'approval_state', NULL, 'approval_fetched_at', NULL) || ${members}`,
  );

function arrivals({ evidence }: HonestCalls): Record<string, Planted> {
  const all = evidence.arrivals;
  const [first] = all;
  if (first === undefined) throw new Error('the ledger is empty');
  const withoutPermit = { upstreamKey: 'never given', at: first.at };
  return {
    'a call arrives at its tool at most once': { evidence: { arrivals: [...all, first] } },
    'no call arrives without an earlier permit': { evidence: { arrivals: [...all, withoutPermit] } },
    'a call arrives with its bound tool and arguments': {
      evidence: { arrivals: all.map((arrival) => ({ ...arrival, argumentsDigest: 'sha-256:other' })) },
    },
    'an executed call arrived': { evidence: { arrivals: all.slice(1) } },
    'a tool with a reported failure was reached': { evidence: { arrivals: all.slice(0, 1) } },
    'an outcome is unknown only where a fault fell between the permit and the end': { evidence: { faults: [] } },
    'every task given to a client exists, with its access request while it is open': {
      evidence: { seenTaskIds: ['tsk_never_made'] },
    },
  };
}

function effects(c: HonestCalls): Record<string, Planted> {
  const turned = (state: string) => ({ sql: [...KEEP_NO_CHECKS, call(c.executed, `state = '${state}'`)] });
  return {
    ...arrivals(c),
    'a cancelled call does not arrive at its tool': turned('cancelled'),
    'a denied call does not arrive at its tool': turned('denied'),
    'a failed call does not arrive at its tool': turned('failed'),
    'no call arrives without a claim': { sql: [less('execution_claim', c.executed)] },
    'a call reported as not sent did not arrive': {
      sql: [rowsOf('invocation', c.unknown, 'not_sent_at = clock_timestamp()')],
    },
  };
}

function execution(c: HonestCalls): Record<string, Planted> {
  return {
    'a claim rests on an allow decision for exactly this call, at most five seconds old': {
      sql: [rowsOf('decision', c.executed, `evaluated_at = evaluated_at - interval '6 s'`)],
    },
    'a claim rests on an approval of its generation that was valid': {
      sql: [rowsOf('approval', c.executed, `approved_until = ${LONG_AGO}`)],
    },
    'a call is claimed before its approval ends': { sql: [call(c.claimed, `approval_expires_at = ${LONG_AGO}`)] },
    'an approval is used for one claim': {
      sql: [
        without('gateway.approval', 'approval_approval_key_key'),
        rowsOf('approval', c.executed, `approval_key = 'same'`),
        rowsOf('approval', c.claimed, `approval_key = 'same'`),
      ],
    },
    'a decision is used for one claim': {
      sql: [
        without('gateway.execution_claim', 'execution_claim_decision_id_key'),
        `UPDATE gateway.execution_claim SET decision_id = (SELECT decision_id FROM gateway.execution_claim LIMIT 1)`,
      ],
    },
    'a call has a claim exactly in the states that need one, and names that claim': {
      sql: [call(c.claimed, 'claim_id = gen_random_uuid()')],
    },
    'a call is claimed and permitted once': {
      sql: [
        without('gateway.invocation', 'invocation_pkey'),
        twinOf(
          'invocation',
          c.executed,
          `jsonb_build_object('invocation_id', gen_random_uuid(), 'claim_id', gen_random_uuid(), 'upstream_key', 'another')`,
        ),
      ],
    },
    'a permit is given after the claim and before the execution deadline': {
      sql: [call(c.unknown, 'execution_deadline = created_at')],
    },
    'a claim that was given up has no permit': {
      sql: [rowsOf('execution_claim', c.executed, 'released_at = clock_timestamp()')],
    },
    'a result exists only with a used permit': { sql: [less('invocation', c.executed)] },
    'an executed call has a result that is not an error': { sql: [less('call_result', c.executed)] },
    'an execution error has a result that says so, or nothing was sent': {
      sql: [rowsOf('call_result', c.failedTool, 'is_error = false')],
    },
    'an unknown outcome has a permit, no result, and lasted until the execution deadline': {
      sql: [call(c.unknown, `execution_deadline = ${SOON}`)],
    },
    'a late answer is kept beside its settled call, and changes nothing': {
      sql: [rowsOf('late_evidence', c.unknown, `recorded_at = ${LONG_AGO}`)],
    },
    'a claimed call is kept until its execution is over': {
      sql: [call(c.claimed, 'retain_until = execution_deadline')],
    },
  };
}

function records(c: HonestCalls): Record<string, Planted> {
  return {
    'a call ends once, and its end is its last event': {
      sql: [twinOf('call_event', c.cancelled, `jsonb_build_object('seq', 100 + t.seq)`)],
    },
    'every version of a call has one event, and the last event has its state': {
      sql: [`DELETE FROM gateway.call_event WHERE gated_call_id = '${c.granted}' AND seq = 2`],
    },
    'every event follows the one before it by the table of transitions': {
      sql: [`UPDATE gateway.call_event SET to_state = 'claimed' WHERE gated_call_id = '${c.granted}' AND seq = 2`],
    },
    'every ended call has one outcome record with its state, and no open call has any': {
      sql: [less('outcome_record', c.denied)],
    },
    'the seal of an outcome record is that of its text': {
      sql: [rowsOf('outcome_record', c.executed, `body = body || ' '`)],
    },
    'an ended call is kept for its result to be read': { sql: [call(c.denied, 'retain_until = ended_at')] },
    'a call is forgotten after its retention time, and then completely': {
      sql: [call(c.executed, 'forgotten_at = clock_timestamp()')],
    },
    'a caller has one open call for the same tool and arguments, and shares it with no other caller': {
      sql: [
        'DROP INDEX gateway.gated_call_open',
        call(c.pending, `dedup_key = 'same'`),
        call(c.granted, `dedup_key = 'same'`),
      ],
    },
  };
}

function requests(c: HonestCalls): Record<string, Planted> {
  const nextSubmission = `jsonb_build_object('id', gen_random_uuid(), 'generation', 2, 'idempotency_key', 'next', 'access_request_key', '${TEST_SEALS.digest('arq_next')}')`;
  return {
    'generations are counted from one without a gap, each with its submission': {
      sql: [call(c.granted, 'generation = 2')],
    },
    'a claim is made in the generation the call is in': { sql: [call(c.claimed, 'generation = 2')] },
    'no decision or approval belongs to a generation that has not begun': {
      sql: [rowsOf('approval', c.granted, 'generation = 2')],
    },
    'a call past the first generation was granted in each one before': {
      sql: [twinOf('submission', c.pending, nextSubmission)],
    },
    'a granted call has an approval of its generation': { sql: [less('approval', c.granted)] },
    'a call waits for input as long as one of its questions is open': {
      sql: [call(c.granted, "takes_input = true, state = 'input_required'")],
    },
    'a call whose task can be read has an access request': {
      sql: [rowsOf('submission', c.pending, 'access_request_key = NULL')],
    },
    'an access request belongs to one submission': {
      sql: [rowsOf('submission', c.pending, `access_request_key = '${TEST_SEALS.digest(`arq_${c.granted}`)}'`)],
    },
    'a call waits for one access request at a time': {
      sql: [twinOf('submission', c.granted, nextSubmission)],
      evidence: {
        requests: [`arq_${c.granted}`, 'arq_next'].map((accessRequestId) => ({ accessRequestId, live: true })),
      },
    },
    'no approver is asked about a request that no call waits for': {
      evidence: { requests: [{ accessRequestId: 'arq_stray', live: true }] },
    },
    'an access request is about the call that it was made for': {
      sql: [`UPDATE approvals.access_request SET call_digest = 'sha-256:other'`],
    },
    'an approver decides on the call that the access request is about': {
      sql: [`UPDATE approvals.vote SET call_digest = 'sha-256:other'`],
    },
    'an access request is approved by as many approvers as it needs, without a denial': {
      sql: [`DELETE FROM approvals.vote WHERE approver_subject = 'bob'`],
    },
    'no person decides on their own request': {
      sql: [
        `UPDATE approvals.vote SET approver_subject = 'agent', cast_by = 'agent', names = '{agent}' WHERE approver_subject = 'bob'`,
      ],
    },
    'a person has one vote where one counts, by any of their names': {
      sql: [`UPDATE approvals.vote SET names = names || 'the same person'::text`],
    },
    'every verdict that came by webhook came in one message': { sql: ['DELETE FROM approvals.decision_webhook_inbox'] },
  };
}

function liveness(c: HonestCalls): Record<string, Planted> {
  return {
    'an open call has a deadline': { sql: [call(c.claimed, 'execution_deadline = NULL')] },
    'a call past its deadline has ended': { sql: [call(c.pending, `request_deadline = ${LONG_AGO}`)] },
    'a granted call goes on while its approval is valid': { sql: [call(c.granted, `last_updated_at = ${LONG_AGO}`)] },
    'no process keeps the right to submit for longer than its lease': {
      sql: [rowsOf('submission', c.preparing, `lease_until = ${LONG_AGO}`)],
    },
    'due steps of an access request are carried out': {
      sql: [openRequest(`jsonb_build_object('remind_at', ${LONG_AGO})`)],
    },
    'the resolver of an open stage has answered, or the question to it exists': {
      sql: [openRequest(`'{"stages": [{"automatic": "risk"}]}'`)],
    },
    'outside work is carried out': { sql: [outboxRow(c.pending, LONG_AGO)] },
    'outside work is about an existing call': {
      sql: [outboxRow('00000000-0000-0000-0000-000000000000', SOON)],
    },
  };
}

function grants(c: HonestCalls): Record<string, Planted> {
  const set = (change: string) => `UPDATE approvals."grant" SET ${change}`;
  return {
    'a grant approves no more requests than it has uses, and counts each': { sql: ['DELETE FROM approvals.grant_use'] },
    'a grant approves nothing after its end or its revocation': {
      sql: [set(`revoked_at = ${LONG_AGO}, revoked_by = 'bob'`)],
    },
    'a grant approves only requests of the same tool, agent and caller': { sql: [set(`tool_digest = 'other'`)] },
    'a grant approves a request for as long and as often as policy allows for that request': {
      sql: [`UPDATE approvals.access_request SET grant_seconds = NULL, grant_uses = NULL`],
    },
    'no more calls arrive by a grant than it has uses': {
      sql: [
        without('approvals."grant"', 'grant_max_uses_check'),
        set('max_uses = 0'),
        rowsOf('submission', c.executed, `access_request_key = '${TEST_SEALS.digest(`arq_${c.executed}`)}'`),
      ],
    },
  };
}

/** One violation of every invariant, by its name. */
export function plantedViolations(calls: HonestCalls): Readonly<Record<string, Planted>> {
  return {
    ...effects(calls),
    ...execution(calls),
    ...records(calls),
    ...requests(calls),
    ...grants(calls),
    ...liveness(calls),
  };
}
