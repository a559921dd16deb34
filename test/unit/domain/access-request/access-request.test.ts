import { describe, expect, it } from '@jest/globals';
import {
  ACCESS_REQUEST_STATUSES,
  ACCESS_REQUEST_TRANSITIONS,
  isEnded,
} from '../../../../workflows/domain/access-request/access-request.ts';
import { ineligibilityOf } from '../../../../workflows/domain/access-request/eligibility.ts';
import { tally } from '../../../../workflows/domain/access-request/quorum.ts';
import { resolutionOf } from '../../../../workflows/domain/access-request/resolution.ts';

const approver = (subject: string, of: { issuer?: string; roles?: string[] } = {}) => ({
  issuer: of.issuer ?? 'https://idp.test',
  subject,
  roles: of.roles ?? ['approver'],
});
const vote = (subject: string, verdict: 'approve' | 'deny', issuer?: string) => ({
  approver: approver(subject, issuer === undefined ? {} : { issuer }),
  verdict,
});

describe('access request', () => {
  it('goes from pending to any end, once', () => {
    for (const status of ACCESS_REQUEST_STATUSES) {
      expect(isEnded(status)).toBe(status !== 'pending');
      expect(ACCESS_REQUEST_TRANSITIONS[status]).toEqual(
        status === 'pending' ? ACCESS_REQUEST_STATUSES.filter((one) => one !== 'pending') : [],
      );
    }
  });
});

describe('eligibility', () => {
  const requester = { issuer: 'https://idp.test', subject: 'bob', clientId: 'bobs-agent' };

  it('needs the role', () => {
    expect(ineligibilityOf(approver('alice'), requester)).toBeUndefined();
    expect(ineligibilityOf(approver('alice', { roles: ['auditor', 'approvers'] }), requester)).toBe('role_missing');
  });

  it('is denied to who asked and to the agent that asked, whatever the issuer says', () => {
    expect(ineligibilityOf(approver('bob'), requester)).toBe('own_request');
    expect(ineligibilityOf(approver('bobs-agent'), requester)).toBe('own_request');
    expect(ineligibilityOf(approver('bob', { issuer: 'https://other.test' }), requester)).toBe('own_request');
    expect(ineligibilityOf(approver('bob'), { subject: 'bob' })).toBe('own_request');
  });

  it('is not denied for want of an agent', () => {
    expect(ineligibilityOf(approver('alice'), { subject: 'bob' })).toBeUndefined();
  });
});

describe('quorum', () => {
  it('counts each approver once, and denials not at all', () => {
    expect(tally([], 2)).toEqual({ approvals: 0, missing: 2 });
    expect(tally([vote('a', 'approve'), vote('a', 'approve')], 2)).toEqual({ approvals: 1, missing: 1 });
    expect(tally([vote('a', 'approve'), vote('a', 'approve', 'https://other.test')], 2)).toEqual({
      approvals: 2,
      missing: 0,
    });
    expect(tally([vote('a', 'approve'), vote('b', 'deny'), vote('c', 'approve')], 1)).toEqual({
      approvals: 2,
      missing: 0,
    });
  });
});

describe('resolution', () => {
  it.each([
    ['open', [], 1, undefined],
    ['granted', [vote('a', 'approve')], 1, 'granted'],
    ['open', [vote('a', 'approve')], 2, undefined],
    ['granted', [vote('a', 'approve'), vote('b', 'approve')], 2, 'granted'],
    ['denied', [vote('a', 'deny')], 3, 'denied'],
    ['denied', [vote('a', 'approve'), vote('b', 'deny')], 1, 'denied'],
  ] as const)('is %s', (_name, votes, quorum, expected) => {
    expect(resolutionOf(votes, quorum)).toBe(expected);
  });
});
