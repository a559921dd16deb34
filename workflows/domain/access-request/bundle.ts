import { isEnded, type AccessRequest, type AccessRequestStatus } from './access-request.ts';

/** Ids of bundles begin with it, so that nobody looks for one among requests. */
export const BUNDLE_PREFIX = 'arb_';

/**
 * Access requests that were submitted together. Approvers decide each by itself, and each approval is good for its item
 * alone; whoever submitted them has one task for all. In the order of the submission, and never empty.
 */
export interface Bundle {
  readonly id: string;
  readonly items: readonly AccessRequest[];
}

/** How a bundle stands: as all its items do, or `partial` where they ended differently. Only bundles are partial (ARAP-BLK-10). */
export type BundleStatus = AccessRequestStatus | 'partial';

/**
 * The status of a bundle. It follows from those of its items, of which there has to be one at least, and is stored nowhere,
 * so that the two cannot disagree. It says nothing about any single item.
 * @see ARAP, Response (ARAP-BLK-06)
 */
export function bundleStatus(items: readonly AccessRequestStatus[]): BundleStatus {
  const [first, ...rest] = items;
  if (first === undefined) throw new RangeError('a bundle has items');
  if (items.some((status) => !isEnded(status))) return 'pending';
  return rest.every((status) => status === first) ? first : 'partial';
}
