import { describe, expect, it } from '@jest/globals';
import { ACCESS_REQUEST_STATUSES, isEnded } from '../../../../workflows/domain/access-request/access-request.ts';
import { earlierVote, resolutionOf, tally } from '../../../../workflows/domain/access-request/quorum.ts';
import { nextStage, type Stage } from '../../../../workflows/domain/access-request/stages.ts';
import { anApprover, aStage } from '../../../support/access-requests.ts';

const vote = (subject: string, verdict: 'approve' | 'deny', stage = 1, issuer?: string) => ({
  approver: anApprover(subject, [], issuer),
  verdict,
  stage,
});
type TestVote = ReturnType<typeof vote>;
const request = (votes: readonly TestVote[], stages: readonly Stage[] = [aStage()], more: object = {}) => ({
  votes,
  stages,
  stage: 1,
  separateStages: true,
  ...more,
});

describe('access request', () => {
  it('goes from pending to any end, once [ARAP-STS-04]', () => {
    for (const status of ACCESS_REQUEST_STATUSES) expect(isEnded(status)).toBe(status !== 'pending');
  });
});

describe('quorum', () => {
  const ofTwo = [aStage({ quorum: 2 }), aStage({ quorum: 1 })];

  it('counts each person once, in any spelling of the issuer, and ignores denials', () => {
    expect(tally(request([], ofTwo))).toEqual({ approvals: 0, missing: 2 });
    const twice = [vote('a', 'approve'), vote('a', 'approve', 1, 'https://IDP.test/')];
    expect(tally(request(twice, ofTwo))).toEqual({ approvals: 1, missing: 1 });
    const three = [vote('a', 'approve'), vote('b', 'deny'), vote('c', 'approve')];
    expect(tally(request(three))).toEqual({ approvals: 2, missing: 0 });
  });

  it('counts the votes of the open stage, without those that have lapsed', () => {
    const votes = [vote('a', 'approve'), vote('b', 'approve', 2)];
    expect(tally(request(votes, ofTwo)).approvals).toBe(1);
    expect(tally(request(votes, ofTwo, { stage: 2 }))).toEqual({ approvals: 1, missing: 0 });
    expect(tally(request([vote('a', 'approve'), vote('b', 'approve')], ofTwo), ['a']).missing).toBe(1);
  });

  it('knows who has voted: in the request, or in the stage that they name', () => {
    const votes = [vote('a', 'approve')];
    expect(earlierVote(request(votes), { subject: 'a' }, 2)).toBe(votes[0]);
    expect(earlierVote(request(votes, ofTwo, { separateStages: false }), { subject: 'a' }, 2)).toBeUndefined();
    expect(earlierVote(request(votes, ofTwo, { separateStages: false }), { subject: 'a' }, 1)).toBe(votes[0]);
    expect(earlierVote(request(votes, ofTwo, { separateStages: false }), { subject: 'a' })).toBe(votes[0]);
    expect(earlierVote(request(votes), { subject: 'b' })).toBeUndefined();
  });

  it('knows that a subject has voted when it acts for the voter, or acted for one before', () => {
    const own = [vote('a', 'approve')];
    expect(earlierVote(request(own), { subject: 'b', actors: ['x', 'a'] })).toBe(own[0]);
    const acted = [{ ...vote('b', 'approve'), actors: ['a'] }];
    expect(earlierVote(request(acted), { subject: 'a' })).toBe(acted[0]);
    expect(earlierVote(request(acted), { subject: 'c', actors: ['a'] })).toBe(acted[0]);
    expect(earlierVote(request(acted), { subject: 'c', castBy: 'a' })).toBe(acted[0]);
    expect(earlierVote(request(acted), { subject: 'c', actors: ['d'] })).toBeUndefined();
  });
});

describe('the state of a stage after votes', () => {
  const [a, b, c] = [vote('a', 'approve'), vote('b', 'approve'), vote('c', 'deny')];

  it.each([
    ['open without votes', [], 1, undefined],
    ['granted by one of one', [a], 1, 'granted'],
    ['open with one of two', [a], 2, undefined],
    ['granted by two of two', [a, b], 2, 'granted'],
    ['denied by one denial', [c], 3, 'denied'],
    ['denied by one denial beside an approval', [a, c], 2, 'denied'],
  ] as const)('is %s [ARAP-APV-05]', (_name, votes, quorum, expected) => {
    expect(resolutionOf(request(votes, [aStage({ quorum })]))).toBe(expected);
  });

  it('is denied without a veto once too few approvers are left to reach the quorum', () => {
    const stages = [aStage({ veto: false, quorum: 2, approvers: { people: ['a', 'b', 'c'] } })];
    const electorate = new Set(['a', 'b', 'c']);
    expect(resolutionOf(request([c], stages), { electorate })).toBeUndefined();
    expect(resolutionOf(request([c, vote('b', 'deny')], stages), { electorate })).toBe('denied');
    expect(resolutionOf(request([c, a, b], stages), { electorate })).toBe('granted');
    // One approver left the group in the meantime.
    expect(resolutionOf(request([c, a], stages), { electorate: new Set(['a', 'c']) })).toBe('denied');
    expect(resolutionOf(request([c, a, b], stages), { electorate, lapsed: ['a'] })).toBe('denied');
    // The number of possible deciders is unknown.
    expect(resolutionOf(request([c], stages))).toBeUndefined();
  });

  it('does not count on those who have voted in an earlier stage where a person counts once', () => {
    const stages = [aStage(), aStage({ veto: false, quorum: 2, approvers: { people: ['a', 'b', 'c'] } })];
    const votes = [a, vote('c', 'deny', 2)];
    const electorate = new Set(['a', 'b', 'c']);
    expect(resolutionOf(request(votes, stages, { stage: 2 }), { electorate })).toBe('denied');
    expect(resolutionOf(request(votes, stages, { stage: 2, separateStages: false }), { electorate })).toBeUndefined();
  });
});

describe('the order of stages', () => {
  const stages = [
    aStage({ name: 'manager', then: 'escalate', withinSeconds: 60 }),
    aStage({ name: 'director', onlyOnEscalation: true }),
    aStage({ name: 'security' }),
  ];

  it('goes on to the next, and grants only at the last [ARAP-STS-06] [ARAP-APV-05]', () => {
    expect(nextStage(stages, 1, 'agreed')).toBe(3);
    expect(nextStage(stages, 2, 'agreed')).toBe(3);
    expect(nextStage(stages, 3, 'agreed')).toBe('granted');
  });

  it('opens the next when one that escalates runs out of time, and denies for every other', () => {
    expect(nextStage(stages, 1, 'elapsed')).toBe(2);
    expect(nextStage(stages, 2, 'elapsed')).toBe('denied');
    expect(nextStage(stages, 3, 'elapsed')).toBe('denied');
    expect(nextStage([aStage({ then: 'escalate' })], 1, 'elapsed')).toBe('denied');
  });
});
