import type { Request } from 'playwright-core';
import type { Pool } from 'pg';

/** The effects of forms, and the stored data that counts how often each happened. */
const COUNTED = {
  approve: `approvals.vote WHERE verdict = 'approve'`,
  deny: `approvals.vote WHERE verdict = 'deny'`,
  cancel: `approvals.access_request WHERE status = 'cancelled'`,
  revoke: 'approvals.revocation',
  'break-glass': 'approvals.break_glass',
  review: 'approvals.break_glass WHERE reviewed_at IS NOT NULL',
  delegate: 'approvals.delegation',
  'end a delegation': 'approvals.delegation WHERE revoked_at IS NOT NULL',
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

/** The effect of a form of the inbox; undefined for a sign-out. Throws for a form that is not listed here. */
export function effectOf(form: Pick<Request, 'url' | 'postData'>): Effect | undefined {
  const { pathname } = new URL(form.url());
  if (pathname === '/sign-out') return undefined;
  const [of, what] = /^\/(delegations|requests)(?:\/[^/]+\/([a-z-]+))?$/.exec(pathname)?.slice(1) ?? [];
  const verdict = new URLSearchParams(form.postData() ?? '').get('verdict');
  if (of === 'delegations') return what === undefined ? 'delegate' : 'end a delegation';
  const effect = what === 'votes' ? verdict : what;
  if (effect === undefined || effect === null || !(effect in COUNTED)) throw new Error(`${pathname}: an unknown form`);
  return effect as Effect;
}

/**
 * The faults in the effects of these forms: each form has to have its own effect, once, and no other effect may happen.
 */
export function wrongEffects(
  before: EffectCounts,
  after: EffectCounts,
  meant: readonly (Effect | undefined)[],
): string[] {
  return (Object.keys(COUNTED) as Effect[]).flatMap((name) => {
    const [happened, wanted] = [after[name] - before[name], meant.filter((one) => one === name).length];
    return happened === wanted ? [] : [`“${name}” happened ${happened} times instead of ${wanted}`];
  });
}
