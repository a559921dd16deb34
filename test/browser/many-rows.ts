import { randomUUID } from 'node:crypto';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createBreakGlassStore } from '../../apps/approvals/stores/break-glass.store.ts';
import { newAccessRequest, newVote, aStage, anApprover } from '../support/access-requests.ts';
import type { ApprovalsUnderTest } from '../support/approvals.ts';

/** Requests with an emergency grant and no review, written directly to the store. */
export async function manyGranted({ database }: ApprovalsUnderTest, count: number): Promise<void> {
  const [store, grants] = [createAccessRequestStore(database.pool), createBreakGlassStore(database.pool)];
  const approvers = { people: ['alice'] };
  const { rows } = await database.pool.query('SELECT FROM approvals.break_glass WHERE reviewed_at IS NULL');
  if (rows.length >= count) return;
  for (let made = 0; made < count; made += 1) {
    const request = newAccessRequest({ id: `arq_${randomUUID()}`, stages: [aStage({ approvers })] });
    await store.create(request);
    const { judgedStage: _stage, ...vote } = newVote(request, {
      approver: anApprover('sam'),
      reason: 'the disk is full',
    });
    await grants.breakGlass(vote, 600_000);
  }
}

/** More delegations to rita, and more ended ones from her, than two pages hold of each. */
export async function manyDelegations({ database }: ApprovalsUnderTest): Promise<void> {
  await database.pool.query(`
    INSERT INTO approvals.delegation (id, delegator_issuer, delegator_subject, delegator_roles, delegate_subject, created_at, until, revoked_at)
    SELECT 'dlg_' || list || n, 'i', CASE list WHEN 'received' THEN 'x' || n ELSE 'rita' END, '{}',
      CASE list WHEN 'received' THEN 'rita' ELSE 'x' || n END, now() - n * interval '1 s', now() + interval '1 day',
      CASE list WHEN 'over' THEN now() END
    FROM generate_series(1, 150) AS n, unnest(ARRAY['made','received','over']) AS list ON CONFLICT DO NOTHING`);
}

/** More active grants of carol, and more uses of the first, than two pages hold of each. */
export async function manyGrants({ database }: ApprovalsUnderTest): Promise<void> {
  await database.pool.query(`
    INSERT INTO approvals."grant" (id, access_request_id, giver_issuer, giver_subject, giver_roles, giver_chain, client_id, tool, tool_digest,
      requester_subject, requester_client, parties, shape, conditions, max_uses, created_at, expires_at, giver_session, ends_at_sign_out)
    SELECT 'grn_many' || n, 'arq_many' || n, 'i', 'carol', '{}', '{}', 'g', 'files__write_file', 'd', 'dana', 'coder', '{}', 's', '{}', 1000,
      now() - n * interval '1 s', now() + interval '1 h', 'none', false
    FROM generate_series(1, 150) AS n ON CONFLICT DO NOTHING;
    ALTER TABLE approvals."grant" DISABLE TRIGGER USER;
    UPDATE approvals."grant" SET revoked_at = NULL, revoked_by = NULL WHERE giver_subject = 'carol';
    ALTER TABLE approvals."grant" ENABLE TRIGGER USER;
    INSERT INTO approvals.grant_use (grant_id, number, max_uses, expires_at, access_request_id, at)
    SELECT id, n, max_uses, expires_at, 'arq_used' || n, now() - n * interval '1 s'
    FROM approvals."grant", generate_series(1, 150) AS n WHERE id = 'grn_many1' ON CONFLICT DO NOTHING`);
}

/** Registered without an authenticator: nothing can be signed with it. */
export async function aPasskey({ database }: ApprovalsUnderTest, subject: string): Promise<void> {
  const text = `INSERT INTO approvals.passkey (id, issuer, subject, name, public_key, counter, transports, device_type, backed_up)
    VALUES ($1, 'i', $2, 'Laptop', 'x', 0, '{}', 'multiDevice', true)`;
  await database.pool.query(text, [randomUUID(), subject]);
}

/** Sets when the people of all sessions signed in, in seconds since the epoch. */
export async function signedInAt({ database }: ApprovalsUnderTest, at: number): Promise<void> {
  const text = `UPDATE approvals.session SET sess = jsonb_set(sess::jsonb, '{person,signedInAt}', to_jsonb($1::bigint))::json`;
  await database.pool.query(text, [at]);
}
