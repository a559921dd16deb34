import type { GrantBounds } from '../../../workflows/domain/access-request/access-request.ts';

/** The longest and the largest grant. The database allows no greater one. */
export const MAX_GRANT_MINUTES = 1_440;
export const MAX_GRANT_USES = 1_000;

/** What an author has to write. */
export const GRANTABLE_RULE = `Write minutes and uses, for example @grantable("30m, 10"): at most ${MAX_GRANT_MINUTES}m and ${MAX_GRANT_USES}.`;

/** The bounds in the text of an annotation, such as `30m, 10`. Undefined for any other text. */
export function grantBoundsOf(text: string): GrantBounds | undefined {
  const [, minutes, uses] = /^(\d{1,4})m, *(\d{1,4})$/.exec(text) ?? [];
  const bounds = { seconds: Number(minutes) * 60, uses: Number(uses) };
  const isWithin = bounds.seconds > 0 && bounds.seconds <= MAX_GRANT_MINUTES * 60 && bounds.uses > 0;
  return isWithin && bounds.uses <= MAX_GRANT_USES ? bounds : undefined;
}

/** The text of an annotation for these bounds. */
export const grantableText = ({ minutes, uses }: { readonly minutes: number; readonly uses: number }): string =>
  `${minutes}m, ${uses}`;
