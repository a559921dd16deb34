import type { Leaf, Outline } from '../../workflows/domain/access-request/outline.ts';
import { canMislead, visiblePieces } from '../shared/pages/visible-text.ts';

/**
 * Why a view of a call is not enough to approve the call on it:
 *
 * - `no_call`: the request is no tool call;
 * - `too_long`: the outline does not have all values, or has only the start of one;
 * - `misleads`: a name or a value has characters that do not show, or look like others;
 * - `left_out`: the view does not show a value, or only the start of it.
 */
export type Concealment = 'no_call' | 'too_long' | 'misleads' | 'left_out';

/**
 * Judges whether a person who sees only this view may approve the call there. Every place except the page of the request asks this
 * function: the table of requests that are decided together, and each channel. Undefined: each value is shown whole, and none misleads.
 */
export function concealmentIn(
  outline: Outline | undefined,
  isShown: (leaf: Leaf) => boolean = () => true,
): Concealment | undefined {
  if (outline === undefined) return 'no_call';
  if (!outline.leaves.every(isShown)) return 'left_out';
  if (!outline.isWhole) return 'too_long';
  const pieces = outline.leaves.flatMap(({ path, json }) => [visiblePieces(path), visiblePieces(json, 'json')]);
  return pieces.some(canMislead) ? 'misleads' : undefined;
}
