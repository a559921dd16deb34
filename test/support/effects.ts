import type { Request } from 'playwright-core';
import type { Pool } from 'pg';

/** The effects of forms, and the stored data that counts how often each happened. */
const COUNTED = {
  // A grant is given with an approval, and gives approvals.
  approve: `approvals.vote v WHERE verdict = 'approve' AND via <> 'grant'
    AND NOT EXISTS (SELECT FROM approvals."grant" g WHERE g.access_request_id = v.access_request_id)`,
  'give a grant': 'approvals."grant"',
  'revoke a grant': 'approvals."grant" WHERE revoked_at IS NOT NULL',
  deny: `approvals.vote WHERE verdict = 'deny'`,
  cancel: `approvals.access_request WHERE status = 'cancelled'`,
  revoke: 'approvals.revocation',
  'break-glass': 'approvals.break_glass',
  review: 'approvals.break_glass WHERE reviewed_at IS NOT NULL',
  extensions: 'approvals.extension',
  questions: 'approvals.requester_question',
  answers: 'approvals.requester_answer',
  'hand-overs': 'approvals.delegation WHERE access_request_id IS NOT NULL',
  delegate: 'approvals.delegation WHERE access_request_id IS NULL',
  'end a delegation': 'approvals.delegation WHERE revoked_at IS NOT NULL',
  'remove a passkey': 'approvals.passkey WHERE revoked_at IS NOT NULL',
  'take a preview': 'approvals.preview',
  'rename a passkey': `approvals.passkey WHERE name <> 'Laptop'`,
} as const;

type Effect = keyof typeof COUNTED;
export type EffectCounts = Readonly<Record<Effect, number>>;

export async function countEffects(pool: Pool): Promise<EffectCounts> {
  const counts = Object.entries(COUNTED).map(([name, rows]) => `(SELECT count(*)::int FROM ${rows}) AS "${name}"`);
  const { rows } = await pool.query<EffectCounts>(`SELECT ${counts.join()}`);
  const [found] = rows;
  if (found === undefined) throw new Error('nothing was counted');
  return found;
}

/** The effects of a form of the inbox; none for a sign-out. Throws for a form that is not listed here. */
export function effectsOf(form: Pick<Request, 'url' | 'postData'>): Effect[] {
  const { pathname } = new URL(form.url());
  if (pathname === '/sign-out') return [];
  const [of, what] =
    /^\/(delegations|grants|passkeys|requests)(?:\/batch|\/[^/]+\/([a-z-]+))?$/.exec(pathname)?.slice(1) ?? [];
  const sent = new URLSearchParams(form.postData() ?? '');
  if (of === 'delegations') return [what === undefined ? 'delegate' : 'end a delegation'];
  if (of === 'passkeys') return [what === 'rename' ? 'rename a passkey' : 'remove a passkey'];
  if (of === 'grants') return ['revoke a grant'];
  if (what === 'grants') return ['give a grant'];
  if (what === 'preview') return ['take a preview'];
  const isBatch = pathname === '/requests/batch';
  const effect = what === 'votes' || isBatch ? sent.get('verdict') : what;
  if (effect === undefined || effect === null || !(effect in COUNTED)) throw new Error(`${pathname}: an unknown form`);
  return Array.from({ length: isBatch ? sent.getAll('item').length : 1 }, () => effect as Effect);
}

/**
 * The faults in the effects of these forms: each form has to have its own effect, once, and no other effect may happen.
 */
export function wrongEffects(before: EffectCounts, after: EffectCounts, meant: readonly Effect[]): string[] {
  return (Object.keys(COUNTED) as Effect[]).flatMap((name) => {
    const [happened, wanted] = [after[name] - before[name], meant.filter((one) => one === name).length];
    return happened === wanted ? [] : [`“${name}” happened ${happened} times instead of ${wanted}`];
  });
}
