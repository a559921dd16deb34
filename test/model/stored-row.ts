import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient, QueryResult } from 'pg';
import { databaseNow } from '../../activities/stores/stored-call.ts';
import { anApproval, anOpening, gatedCallFixture } from '../support/gated-calls.ts';
import type { Attempt, Claim, Generation, Operation, Row } from './row.ts';
import { systemTime } from '../support/time.ts';

const HOUR_MS = 3_600_000;
const RESULT = { text: '{"content":[]}', digest: 'sha-256:result' };

/** How long a decision is fresh. */
const FRESH_MS = 5_000;
const IS_FRESH = `evaluated_at > clock_timestamp() - interval '${FRESH_MS} ms'`;
const AHEAD = "clock_timestamp() + interval '1 h'";
const DATED = 'UPDATE gateway.decision SET evaluated_at =';

const ROW = `
  SELECT g.state, g.generation, s.lease_until > clock_timestamp() AS leased,
    ARRAY(SELECT h.access_request_key IS NOT NULL FROM gateway.submission h WHERE h.gated_call_id = g.id
      ORDER BY h.generation) AS handles,
    CASE WHEN g.approval_expires_at IS NULL THEN 'none' WHEN g.approval_expires_at > clock_timestamp() THEN 'valid'
      ELSE 'over' END AS approval,
    ARRAY(SELECT coalesce((SELECT CASE WHEN d.${IS_FRESH} THEN 'fresh' ELSE 'old' END
      FROM gateway.decision d WHERE d.gated_call_id = g.id AND d.generation = n AND d.kind = 'allow'
      ORDER BY d.evaluated_at DESC LIMIT 1), 'none') FROM generate_series(1, 2) AS n) AS decisions,
    g.request_deadline <= clock_timestamp() AS request_over,
    coalesce(g.execution_deadline <= clock_timestamp(), false) AS execution_over,
    coalesce(c.generation, 0) AS claim,
    (SELECT count(*)::int FROM gateway.execution_claim e WHERE e.gated_call_id = g.id) AS claims, i.invocation_id,
    CASE WHEN r.is_error THEN 'error' WHEN NOT r.is_error THEN 'ok' WHEN g.state = 'execution_error' THEN 'not_sent'
      ELSE 'none' END AS result
  FROM gateway.gated_call g
  JOIN gateway.submission s ON s.gated_call_id = g.id AND s.generation = g.generation
  LEFT JOIN gateway.execution_claim c ON c.gated_call_id = g.id AND c.released_at IS NULL
  LEFT JOIN gateway.invocation i ON i.gated_call_id = g.id
  LEFT JOIN gateway.call_result r ON r.gated_call_id = g.id
  WHERE g.id = $1::uuid`;

/** The test moves instants into the past. Only with the triggers off may a row be made older. */
const unfenced = (statement: string) =>
  `SET LOCAL session_replication_role = replica; ${statement}; SET LOCAL session_replication_role = origin`;

/**
 * One gated call in the database, on which the product's own stores carry out the model's operations. Everything uses
 * one connection, so that a savepoint takes all changes back; hence this class remembers only ids.
 */
export function createStoredRow(client: PoolClient) {
  // The stores use only `query` of a pool, and a connection has the same.
  const { calls, lifecycle } = gatedCallFixture(client as unknown as Pool);
  const opening = anOpening();
  const [first, second, firstKey, secondKey] = Array.from({ length: 4 }, () => randomUUID());
  const invocationIds = { 1: String(first), 2: String(second) };
  const upstreamKeys = { 1: String(firstKey), 2: String(secondKey) };

  const idOf = async () => (await client.query<{ id: string }>('SELECT id FROM gateway.gated_call')).rows[0]?.id ?? '';
  let id = '';
  let prepared: Promise<unknown> | undefined;

  async function open(): Promise<string> {
    const { kind } = await calls.open(opening);
    if (kind === 'opened') {
      id = await idOf();
      await client.query(`UPDATE gateway.submission SET lease_until = clock_timestamp() + interval '1 h'`);
    }
    return kind;
  }

  async function newestAllow(generation: Generation): Promise<string> {
    const { rows } = await client.query<{ id: string }>(
      `SELECT id FROM gateway.decision WHERE gated_call_id = $1 AND generation = $2 AND kind = 'allow'
       ORDER BY evaluated_at DESC LIMIT 1`,
      [id, generation],
    );
    return rows[0]?.id ?? randomUUID();
  }

  /** A worker that repeats its claim finds it: the id follows from the generation and the claims that were given up before. */
  const claimIdFor = (generation: Generation, after: number) => `${id.slice(0, -2)}${generation}${after}`;
  async function claimIdOf(claim: Claim): Promise<string> {
    const text =
      'SELECT claim_id FROM gateway.execution_claim WHERE gated_call_id = $1 ORDER BY number OFFSET $2 LIMIT 1';
    return (await client.query<{ claim_id: string }>(text, [id, claim - 1])).rows[0]?.claim_id ?? randomUUID();
  }

  async function released(): Promise<number> {
    const text =
      'SELECT count(*)::int AS n FROM gateway.execution_claim WHERE gated_call_id = $1 AND released_at IS NOT NULL';
    return (await client.query<{ n: number }>(text, [id])).rows[0]?.n ?? 0;
  }

  /** A machine may stand still for longer than a decision is fresh. Then the claim is taken back, and made again. */
  async function claim(generation: Generation, decidedIn: Generation): Promise<string> {
    const [decisionId, claimId] = [await newestAllow(decidedIn), claimIdFor(generation, await released())];
    const claim = { gatedCallId: id, generation, epoch: 1, decisionId, claimId };
    for (;;) {
      const began = performance.now();
      const dated = `${DATED} clock_timestamp() WHERE evaluated_at > clock_timestamp()`;
      await client.query(`SAVEPOINT fresh; ${unfenced(dated)}`);
      const outcome = await lifecycle.claim({ ...claim, executionTimeoutMs: HOUR_MS });
      await client.query(unfenced(`${DATED} ${AHEAD} WHERE ${IS_FRESH} AND kind = 'allow'`));
      const isFresh = performance.now() - began < FRESH_MS;
      await client.query(isFresh ? 'RELEASE SAVEPOINT fresh' : 'ROLLBACK TO SAVEPOINT fresh');
      if (isFresh) return outcome;
    }
  }

  /**
   * The test takes longer than the five seconds for which a decision is fresh, so the decision stays fresh and gets its
   * date when it is used.
   */
  async function allow(generation: Generation): Promise<void> {
    const call = await lifecycle.load(id);
    const decisionId = await lifecycle.recordDecision(
      { ...call, generation },
      { kind: 'allow' },
      databaseNow(call, systemTime.clock),
    );
    await client.query(unfenced(`${DATED} ${AHEAD} WHERE id = '${decisionId}'`));
  }

  /** A claim that is given up used its decision. In the model no other one is fresh by then. */
  async function aged<T>(release: () => Promise<T>): Promise<T> {
    const [before, answer, after] = [await released(), await release(), await released()];
    if (before !== after) await change('decision', `evaluated_at = clock_timestamp() - interval '6 s'`);
    return answer;
  }

  function requestAgain(generation: Generation): Promise<string> {
    const next = { ...opening.submission, idempotencyKey: randomUUID() };
    return lifecycle.requestAgain({ gatedCallId: id, generation }, next, 2);
  }

  const settle = (attempt: Attempt, isError: boolean) =>
    lifecycle.settleResult(
      { gatedCallId: id, invocationId: invocationIds[attempt], cause: 'result' },
      { ...RESULT, isError },
    );

  const handle = (generation: Generation) => ({
    accessRequestId: `arq_${generation}_${id}`,
    statusEndpoint: 'http://127.0.0.1:1/status',
    cancelEndpoint: 'http://127.0.0.1:1/cancel',
  });
  const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
  const change = async (table: string, columns: string) => {
    await client.query(unfenced(`UPDATE gateway.${table} SET ${columns}`));
    return 'done';
  };

  /** Answers in the words of the model. */
  async function perform(operation: Operation): Promise<string> {
    switch (operation.kind) {
      case 'open':
        return open();
      case 'takeSubmission':
        return (await lifecycle.takeSubmission(id, HOUR_MS)) === undefined ? 'refused' : 'taken';
      case 'releaseSubmission':
        return lifecycle.releaseSubmission(id).then(() => 'done');
      case 'attach':
        return (await lifecycle.attachHandle(id, operation.generation, handle(operation.generation))).outcome;
      case 'grant':
      case 'grantOver': {
        const approvedUntil = inMs(operation.kind === 'grant' ? HOUR_MS : -1_000);
        return lifecycle.grant(id, operation.generation, anApproval({ approvedUntil }));
      }
      case 'allow':
        return allow(operation.generation).then(() => 'done');
      case 'claim':
        return claim(operation.generation, operation.decidedIn);
      case 'permit': {
        const [invocationId, upstreamKey] = [invocationIds[operation.attempt], upstreamKeys[operation.attempt]];
        const claimId = await claimIdOf(operation.claim);
        return String(await lifecycle.beginInvocation({ gatedCallId: id, claimId, invocationId, upstreamKey }));
      }
      case 'release':
        return String(
          await aged(async () =>
            lifecycle.releaseClaim({ gatedCallId: id, claimId: await claimIdOf(operation.claim) }),
          ),
        );
      case 'notSent':
        return lifecycle.settleNotSent(id, invocationIds[operation.attempt]);
      case 'settle':
        return settle(operation.attempt, operation.isError);
      case 'cancel':
        return calls.cancel(id);
      case 'deny':
        return lifecycle.end(id, 'denied', 'policy_denied', 're-evaluation');
      case 'fail':
        return lifecycle.end(id, 'failed', 'resolution_failed', 'resolution');
      case 'expire':
        return aged(() => lifecycle.expire(id));
      case 'requestDeadlinePasses':
        return change('gated_call', 'request_deadline = clock_timestamp()');
      case 'approvalRunsOut':
        return change(
          'gated_call',
          'approval_expires_at = CASE WHEN approval_expires_at > clock_timestamp() THEN clock_timestamp() ELSE approval_expires_at END',
        );
      case 'executionDeadlinePasses':
        return change(
          'gated_call',
          'execution_deadline = CASE WHEN execution_deadline IS NOT NULL THEN clock_timestamp() END',
        );
      case 'decisionsGetOld':
        return change('decision', `evaluated_at = clock_timestamp() - interval '6 s'`);
      case 'requestAgain':
        return requestAgain(operation.generation);
    }
  }

  /** The current state, as the model sees it; then returns to the savepoint, if there is one. */
  async function read(savepoint?: string): Promise<Row> {
    await (prepared ??= client.query(`PREPARE model_row AS ${ROW}`));
    const statement = `EXECUTE model_row ('${id}')`;
    if (savepoint === undefined) return rowOf((await client.query<StoredColumns>(statement)).rows[0], invocationIds);
    // Several statements in one message: pg types the answer to one.
    const answers: unknown = await client.query(`${statement}; ROLLBACK TO SAVEPOINT ${savepoint}`);
    return rowOf((answers as [QueryResult<StoredColumns>])[0].rows[0], invocationIds);
  }
  return { perform, read };
}

interface StoredColumns {
  readonly state: Row['state'];
  readonly generation: Generation;
  readonly leased: boolean;
  readonly handles: readonly boolean[];
  readonly approval: Row['approval'];
  readonly decisions: Row['decisions'];
  readonly request_over: boolean;
  readonly execution_over: boolean;
  readonly claim: Row['claim'];
  readonly claims: Row['claims'];
  readonly invocation_id: string | null;
  readonly result: Row['result'];
}

function rowOf(columns: StoredColumns | undefined, invocationIds: Record<1 | 2, string>): Row {
  if (columns === undefined) throw new Error('there is no call');
  const { handles, request_over: requestOver, execution_over: executionOver, invocation_id, ...same } = columns;
  const { claim, claims, result, ...earlier } = same;
  return {
    state: earlier.state,
    generation: earlier.generation,
    leased: earlier.leased,
    handles: [handles[0] === true, handles[1] === true],
    approval: earlier.approval,
    decisions: earlier.decisions,
    requestOver,
    executionOver,
    claim,
    claims,
    permit: invocation_id === null ? 0 : invocation_id === invocationIds[1] ? 1 : 2,
    result,
  };
}
