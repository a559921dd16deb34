import type { Pool } from 'pg';
import { allowTransition, replaceInFunction, type Mutant } from './mutant.ts';

const change =
  (name: string, ...changes: readonly (readonly [string, string])[]) =>
  (pool: Pool) =>
    replaceInFunction(pool, `gateway.${name}`, ...changes);

const changeUse =
  (fences: readonly string[], ...changes: readonly (readonly [string, string])[]) =>
  async (pool: Pool) => {
    await replaceInFunction(pool, 'approvals.use_grant', ...changes);
    // The second fences, where the mutant has to show the purpose of the first one.
    for (const fence of fences) await pool.query(`ALTER TABLE approvals.grant_use DROP CONSTRAINT ${fence}`);
  };

/** Faults in the functions of the database. */
export const DATABASE_MUTANTS: readonly Mutant[] = [
  {
    name: 'every request for a permit gets one',
    checks: ['histories', 'races'],
    inDatabase: change('begin_invocation', ['IF NOT FOUND THEN RETURN false; END IF;', '']),
  },
  {
    name: 'a permit is given after the execution deadline',
    checks: ['model', 'histories'],
    inDatabase: change('begin_invocation', [' OR c.execution_deadline <= v_now', '']),
  },
  {
    name: 'a claim with a permit is given up',
    checks: ['model', 'histories'],
    inDatabase: async (pool) => {
      const permit = 'IF EXISTS (SELECT 1 FROM gateway.invocation WHERE gated_call_id = p_call) THEN RETURN 0; END IF;';
      await change('release_claim', [permit, ''])(pool);
      await pool.query('DROP TRIGGER execution_claim_guard ON gateway.execution_claim');
    },
  },
  {
    name: 'a cancelled call can be claimed',
    checks: ['races', 'histories'],
    inDatabase: async (pool) => {
      await change('claim_execution', ["c.state <> 'granted'", "c.state NOT IN ('granted', 'cancelled')"])(pool);
      await allowTransition(pool, 'cancelled', 'claimed');
    },
  },
  {
    name: 'a claim does not look at its decision',
    checks: ['model', 'histories'],
    inDatabase: change('claim_execution', ["RETURN 'stale';", 'NULL;']),
  },
  {
    name: 'a claim takes a decision of an earlier generation',
    checks: ['model', 'histories'],
    inDatabase: change(
      'claim_execution',
      [' OR c.generation <> p_generation', ''],
      [' AND d.generation = p_generation', ''],
    ),
  },
  {
    name: 'the claim reads the clock before it waits for the row',
    checks: ['races', 'model'],
    inDatabase: change(
      'claim_execution',
      ['v_now timestamptz;', 'v_now timestamptz := clock_timestamp();'],
      ['v_now := clock_timestamp();', ''],
    ),
  },
  {
    name: 'the claim reads the clock of the beginning of its transaction',
    checks: ['races', 'model'],
    inDatabase: change('claim_execution', ['v_now := clock_timestamp();', 'v_now := now();']),
  },
  {
    name: 'a claimed call can be cancelled',
    checks: ['histories', 'races'],
    inDatabase: async (pool) => {
      await change('end_unclaimed', ["'input_required','granted') THEN", "'input_required','granted','claimed') THEN"])(
        pool,
      );
      await allowTransition(pool, 'claimed', 'cancelled');
    },
  },
  {
    name: 'a result is stored over an unknown outcome',
    checks: ['model', 'histories'],
    inDatabase: async (pool) => {
      await change('settle_execution', ["IF v_state <> 'claimed' THEN", 'IF false THEN'])(pool);
      await allowTransition(pool, 'outcome_unknown', 'executed');
      await allowTransition(pool, 'outcome_unknown', 'execution_error');
      await pool.query('ALTER TABLE gateway.outcome_record DROP CONSTRAINT outcome_record_gated_call_id_key');
      await pool.query('ALTER TABLE gateway.outcome_record DROP CONSTRAINT outcome_record_task_id_key');
    },
  },
  {
    name: 'the execution deadline ends a call as denied',
    checks: ['histories', 'model'],
    inDatabase: async (pool) => {
      await change('expire_gated_call', ["'outcome_unknown', 'execution_deadline'", "'denied', 'execution_deadline'"])(
        pool,
      );
      await allowTransition(pool, 'claimed', 'denied');
    },
  },
  {
    name: 'the execution deadline is not carried out',
    checks: ['histories', 'model'],
    inDatabase: change('expire_gated_call', ["ELSIF c.state = 'claimed' AND", 'ELSIF false AND']),
  },
  {
    name: 'an approval of an earlier generation is taken for the next',
    checks: ['model', 'histories'],
    inDatabase: change('grant_approval', [' OR c.generation <> p_generation', '']),
  },
  {
    name: 'an identical call opens a second one',
    checks: ['histories'],
    inDatabase: change('open_gated_call', [
      'v_dedup text := p_dedup_key',
      'v_dedup text := p_dedup_key || gen_random_uuid()',
    ]),
  },
  {
    name: 'identical calls of two agents are one',
    checks: ['histories'],
    inDatabase: async (pool) => {
      await change(
        'open_gated_call',
        ['v_owner text := p_owner_key', "v_owner text := 'everybody'"],
        ['v_subject text := p_subject_key', "v_subject text := 'everybody'"],
        ['v_dedup text := p_dedup_key', 'v_dedup text := p_call_digest'],
      )(pool);
    },
  },
  {
    name: 'a task past its deadline is shown as if it had none',
    checks: ['histories'],
    inDatabase: async (pool) => {
      const { rows } = await pool.query<{ view: string }>(`SELECT pg_get_viewdef('gateway.task'::regclass) AS view`);
      const view = rows[0]?.view ?? '';
      const shown = view.replace(/COALESCE\(\(?g\.due_at <= clock_timestamp\(\)\)?, false\)/, 'false');
      if (shown === view) throw new Error('the view does not look at the deadline');
      await pool.query(`CREATE OR REPLACE VIEW gateway.task AS ${shown}`);
    },
  },
  {
    name: 'the engine is not told of a new call',
    checks: ['histories'],
    inDatabase: change('attach_handle', ["PERFORM gateway.enqueue('start_workflow', p_call::text);", '']),
  },
  {
    name: 'an end leaves no outcome record',
    checks: ['histories'],
    inDatabase: change('transition', ['IF v_end THEN PERFORM', 'IF false THEN PERFORM']),
  },
  {
    name: 'a grant is used more often than it has uses',
    checks: ['histories'],
    inDatabase: changeUse(['grant_use_within_number'], ['v_used >= least(g.max_uses, r.grant_uses)', 'false']),
  },
  {
    name: 'a grant is used more often than policy allows now',
    checks: ['histories'],
    inDatabase: changeUse([], ['least(g.max_uses, r.grant_uses)', 'g.max_uses']),
  },
  {
    name: 'a grant is used after its end',
    checks: ['histories'],
    inDatabase: changeUse(
      ['grant_use_in_time'],
      ["v_now >= least(g.expires_at, g.created_at + r.grant_seconds * interval '1 s')", 'false'],
    ),
  },
  {
    name: 'a grant is used after its revocation',
    checks: ['histories'],
    inDatabase: changeUse([], ["IF g.revoked_at IS NOT NULL THEN RETURN 'revoked'; END IF;", '']),
  },
];
