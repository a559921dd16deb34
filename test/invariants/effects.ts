import type { Invariant } from './invariant.ts';

/** Rules for arrivals at tools, and for reports on them to clients. */
export const EFFECTS: readonly Invariant[] = [
  {
    name: 'a call arrives at its tool at most once',
    needs: 'arrivals',
    sql: 'SELECT upstream_key, count(*) FROM arrival GROUP BY upstream_key HAVING count(*) > 1',
  },
  {
    // The ledger's clock counts in milliseconds.
    name: 'no call arrives without an earlier permit',
    needs: 'arrivals',
    sql: `SELECT a.upstream_key, a.at, i.began_at FROM arrival a LEFT JOIN gateway.invocation i USING (upstream_key)
      WHERE i.gated_call_id IS NULL OR date_trunc('milliseconds', i.began_at) > a.at`,
  },
  ...(['cancelled', 'denied', 'failed'] as const).map((state) => ({
    name: `a ${state} call does not arrive at its tool`,
    needs: 'arrivals' as const,
    sql: `SELECT g.id FROM arrived_call a JOIN gateway.gated_call g ON g.id = a.gated_call_id WHERE g.state = '${state}'`,
  })),
  {
    name: 'no call arrives without a claim',
    needs: 'arrivals',
    sql: `SELECT a.gated_call_id FROM arrived_call a LEFT JOIN gateway.execution_claim e USING (gated_call_id)
      WHERE e.gated_call_id IS NULL OR e.claimed_at > a.began_at`,
  },
  {
    name: 'a call arrives with its bound tool and arguments',
    needs: 'keyed',
    sql: `SELECT a.gated_call_id FROM arrived_call a JOIN gateway.call_binding b USING (gated_call_id)
      WHERE a.arguments_digest <> b.call_digest`,
  },
  {
    name: 'an executed call arrived',
    needs: 'arrivals',
    sql: `SELECT g.id FROM gateway.gated_call g LEFT JOIN arrived_call a ON a.gated_call_id = g.id
      WHERE g.state = 'executed' AND a.gated_call_id IS NULL`,
  },
  {
    name: 'a tool with a reported failure was reached',
    needs: 'arrivals',
    sql: `SELECT g.id FROM gateway.gated_call g JOIN gateway.call_result r ON r.gated_call_id = g.id
      LEFT JOIN arrived_call a ON a.gated_call_id = g.id WHERE g.state = 'execution_error' AND a.gated_call_id IS NULL`,
  },
  {
    name: 'a call reported as not sent did not arrive',
    needs: 'arrivals',
    sql: `SELECT a.gated_call_id FROM arrived_call a JOIN gateway.gated_call g ON g.id = a.gated_call_id
      WHERE a.not_sent_at IS NOT NULL OR (g.state = 'execution_error' AND g.reason = 'not_sent')`,
  },
  {
    // The times of faults have milliseconds, too.
    name: 'an outcome is unknown only where a fault fell between the permit and the end',
    needs: 'faults',
    sql: `SELECT g.id, i.began_at, g.ended_at FROM gateway.gated_call g JOIN gateway.invocation i ON i.gated_call_id = g.id
      WHERE g.state = 'outcome_unknown' AND NOT EXISTS (SELECT 1 FROM fault f
        WHERE f.began_at <= g.ended_at AND f.ended_at >= date_trunc('milliseconds', i.began_at))`,
  },
];
