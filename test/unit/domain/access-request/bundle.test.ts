import { describe, expect, it } from '@jest/globals';
import {
  ACCESS_REQUEST_STATUSES,
  isEnded,
  type AccessRequestStatus,
} from '../../../../workflows/domain/access-request/access-request.ts';
import { bundleStatus, type BundleStatus } from '../../../../workflows/domain/access-request/statement.ts';

describe('the status of a bundle', () => {
  it.each<[readonly AccessRequestStatus[], BundleStatus]>([
    [['pending', 'pending'], 'pending'],
    [['approved', 'pending'], 'pending'],
    [['pending', 'denied', 'expired'], 'pending'],
    [['approved', 'approved'], 'approved'],
    [['denied', 'denied', 'denied'], 'denied'],
    [['expired', 'expired'], 'expired'],
    [['cancelled', 'cancelled'], 'cancelled'],
    [['failed', 'failed'], 'failed'],
    [['approved', 'denied'], 'partial'],
    [['cancelled', 'approved', 'approved'], 'partial'],
    [['failed', 'expired'], 'partial'],
  ])('of %j is %s [ARAP-BLK-06]', (items, expected) => {
    expect(bundleStatus(items)).toBe(expected);
  });

  const ended = ACCESS_REQUEST_STATUSES.filter(isEnded);
  const pairs = ACCESS_REQUEST_STATUSES.flatMap((a) => ACCESS_REQUEST_STATUSES.map((b) => [a, b] as const));

  it('is the same in any order, and pending as long as one item is [ARAP-BLK-06]', () => {
    for (const [a, b] of pairs) {
      expect(bundleStatus([a, b])).toBe(bundleStatus([b, a]));
      expect(bundleStatus([a, b]) === 'pending').toBe(!isEnded(a) || !isEnded(b));
    }
  });

  it('is partial only for several that ended differently [ARAP-BLK-10]', () => {
    for (const one of ended) expect(bundleStatus([one])).toBe(one);
    for (const [a, b] of pairs) expect(bundleStatus([a, b]) === 'partial').toBe(a !== b && isEnded(a) && isEnded(b));
    expect(ACCESS_REQUEST_STATUSES).not.toContain('partial');
  });

  it('is undefined without items', () => {
    expect(() => bundleStatus([])).toThrow('has items');
  });
});
