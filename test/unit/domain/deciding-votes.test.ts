import { expect, it } from '@jest/globals';
import type { ResolutionStatement, StatedVote } from '../../../workflows/domain/access-request/statement.ts';
import type { EndReason, GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import { decidingVotes } from '../../../workflows/domain/gated-call/who-decided.ts';

const vote = (subject: string, verdict: StatedVote['verdict'], more: Partial<StatedVote> = {}): StatedVote => ({
  ...{ approver: { subject }, verdict, stage: 1, at: '2026-11-21T10:00:00.000Z', ...more },
});
const STAGES = [
  { name: 'manager', quorum: 2 },
  { name: 'director', quorum: 1 },
];
const granted = (...votes: StatedVote[]): ResolutionStatement => ({ status: 'approved', stages: STAGES, votes });
const bothAgree = granted(vote('ann', 'approve'), vote('ben', 'approve'));
const oneOfTwo = [vote('ann', 'approve'), vote('dora', 'approve', { stage: 2 })];

type Ended = readonly [state: GatedCallState, reason?: EndReason];

it.each<[string, Ended, ResolutionStatement, string[]]>([
  ['approvals of a call that ran', ['executed'], bothAgree, ['ann', 'ben']],
  ['approvals of a call whose outcome is not known', ['outcome_unknown'], bothAgree, ['ann', 'ben']],
  ['not the approval in a stage that another one replaced', ['executed'], granted(...oneOfTwo), ['dora']],
  [
    'not an approval that lapsed',
    ['execution_error'],
    granted(vote('ann', 'approve', { hasLapsed: true }), vote('dora', 'approve', { stage: 2 })),
    ['dora'],
  ],
  [
    'none past which one person granted the request',
    ['executed'],
    { ...bothAgree, breakGlass: { by: { subject: 'sam' }, reason: 'fire', at: '2026-11-21T10:00:00.000Z' } },
    [],
  ],
  ['denials of a request that was denied', ['denied', 'resolution_denied'], denied('denied'), ['ben']],
  ['no denial of a request whose time was over', ['denied', 'request_expired'], denied('expired'), []],
  ['no approval that came too late', ['denied', 'approval_expired'], bothAgree, []],
  ['no approval that policy overruled', ['denied', 'policy_denied'], bothAgree, []],
  ['no approval of a call that was given up', ['cancelled', 'client_cancelled'], bothAgree, []],
])('takes %s', (_case, [state, reason = null], stated, subjects) => {
  expect(decidingVotes({ state, reason }, stated).map(({ approver }) => approver.subject)).toEqual(subjects);
});

function denied(status: 'denied' | 'expired'): ResolutionStatement {
  return { status, stages: STAGES, votes: [vote('ann', 'approve'), vote('ben', 'deny')] };
}
