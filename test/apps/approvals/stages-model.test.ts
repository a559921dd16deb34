import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { type Counted, earlierVote, resolutionOf } from '../../../workflows/domain/access-request/quorum.ts';
import { nextStage, type Next, type Stage } from '../../../workflows/domain/access-request/stages.ts';
import { anApprover, aStage, newAccessRequest, newVote } from '../../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { times } from '../../support/regime.ts';

const PEOPLE = ['a', 'b', 'c', 'd', 'e'];
const subject = fc.constantFrom(...PEOPLE);

const stage = fc.record({
  quorum: fc.integer({ min: 1, max: 3 }),
  veto: fc.boolean(),
  escalates: fc.boolean(),
  skipped: fc.boolean(),
});
const stages = fc.array(stage, { minLength: 1, maxLength: 4 }).map((all) =>
  all.map(({ quorum, veto, escalates, skipped }, index) =>
    aStage({
      ...{ name: `stage ${index}`, quorum, veto },
      ...(escalates && { then: 'escalate' as const, withinSeconds: 3_600 }),
      onlyOnEscalation: index > 0 && skipped,
    }),
  ),
);
const ballot = fc.record({
  kind: fc.constant('vote' as const),
  subject,
  /** Actors in the voter's token: mostly none. */
  actors: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.subarray(PEOPLE, { minLength: 1, maxLength: 2 }) },
  ),
  verdict: fc.constantFrom('approve' as const, 'approve' as const, 'deny' as const),
  lapsed: fc.subarray(PEOPLE, { maxLength: 2 }),
  electorate: fc.option(fc.subarray(PEOPLE), { nil: undefined }),
  /** Whether the voter names the stage. */
  names: fc.boolean(),
});
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: ballot },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('late' as const) }) },
  ),
  {
    maxLength: 14,
  },
);

interface Model {
  readonly stages: readonly Stage[];
  readonly separateStages: boolean;
  stage: number;
  votes: Counted[];
  status: 'pending' | 'approved' | 'denied';
}

function follow(model: Model, next: Next | undefined): void {
  if (next === undefined) return;
  if (typeof next === 'number') model.stage = next;
  else model.status = next === 'granted' ? 'approved' : 'denied';
}

/** The outcome of a vote in the domain model. */
function cast(
  model: Model,
  { subject, actors, verdict, lapsed, electorate, names }: typeof ballot extends fc.Arbitrary<infer T> ? T : never,
) {
  const earlier = earlierVote(model, { subject, actors }, names ? model.stage : undefined);
  if (earlier !== undefined) {
    const isSeen = !names || earlier.stage === model.stage;
    const isSame = isSeen && earlier.verdict === verdict && earlier.approver.subject === subject;
    return isSame ? 'repeated' : 'already_voted';
  }
  if (model.status !== 'pending') return 'final';
  model.votes.push({ approver: { subject }, actors, verdict, stage: model.stage });
  follow(model, resolutionOf(model, { lapsed, electorate: electorate && new Set(electorate) }));
  return 'counted';
}

describe('stages in the database', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  const passStage = (id: string) =>
    db.pool.query(
      `ALTER TABLE approvals.access_request DISABLE TRIGGER USER; UPDATE approvals.access_request
       SET stage_ends_at = clock_timestamp() - interval '1 ms' WHERE id = '${id}' AND status = 'pending' AND stage_ends_at IS NOT NULL;
       ALTER TABLE approvals.access_request ENABLE TRIGGER USER`,
    );

  it('match the domain model for any votes and deadlines [ARAP-APV-05] [ARAP-STS-06]', async () => {
    const store = createAccessRequestStore(db.pool);
    const ends = new Set<string>();
    const property = fc.asyncProperty(stages, fc.boolean(), steps, async (all, separateStages, list) => {
      const request = newAccessRequest({ stages: all, separateStages });
      await store.create(request);
      const model: Model = { stages: all, separateStages, stage: 1, votes: [], status: 'pending' };
      for (const step of list) {
        if (step.kind === 'late') {
          const isTimed = all[model.stage - 1]?.withinSeconds !== undefined;
          await passStage(request.id);
          if (model.status === 'pending' && isTimed) follow(model, nextStage(all, model.stage, 'elapsed'));
        } else {
          const { subject: who, actors, verdict, lapsed, electorate, names } = step;
          const outcome = cast(model, step);
          // The stage at the time of the vote.
          const judgedStage = (await store.find(request.id))?.stage ?? 0;
          const vote = newVote(request, {
            ...{ approver: anApprover(who), actors, verdict, judgedStage, ...(names && { stage: judgedStage }) },
            facts: { lapsed, electorate: electorate && new Set(electorate) },
          });
          expect(await store.castVote(vote)).toBe(outcome);
        }
        const now = await store.find(request.id);
        expect([now?.status, now?.stage, now?.votes.length]).toEqual([model.status, model.stage, model.votes.length]);
      }
      ends.add(`${model.status} in ${Math.min(model.stage, 2)}`);
    });
    await fc.assert(property, { numRuns: times(150, 3_000) });
    // The runs must have reached each of these ends.
    for (const end of ['pending in 2', 'approved in 1', 'approved in 2', 'denied in 1', 'denied in 2'])
      expect(ends).toContain(end);
  }, 600_000);

  it('have a unique key: no person has two votes where one counts', async () => {
    const store = createAccessRequestStore(db.pool);
    const request = newAccessRequest({ stages: [aStage({ quorum: 3 })] });
    await store.create(request);
    await store.castVote(newVote(request));
    const forged = `INSERT INTO approvals.vote (access_request_id, stage, counts_in, approver_issuer, approver_subject, approver_roles,
        cast_by, actors, verdict, call_digest, via)
      SELECT access_request_id, stage, counts_in, 'https://idp.test/', approver_subject, approver_roles,
        cast_by, actors, verdict, call_digest, via FROM approvals.vote WHERE access_request_id = $1`;
    await expect(db.pool.query(forged, [request.id])).rejects.toMatchObject({ code: '23505' });
    const back = 'UPDATE approvals.access_request SET stages = $2 WHERE id = $1';
    await expect(db.pool.query(back, [request.id, JSON.stringify([aStage()])])).rejects.toMatchObject({
      code: 'CS002',
    });
  });

  it('count no vote of an approver who was eligible for another stage or saw another stage', async () => {
    const store = createAccessRequestStore(db.pool);
    const request = newAccessRequest({ stages: [aStage(), aStage({ name: 'second' })] });
    await store.create(request);
    expect(await store.castVote(newVote(request))).toBe('counted');
    const bob = { approver: anApprover('bob') };
    expect(await store.castVote(newVote(request, { ...bob, judgedStage: 1 }))).toBe('stage_over');
    expect(await store.castVote(newVote(request, { ...bob, judgedStage: 2, stage: 1 }))).toBe('stage_over');
    expect(await store.castVote(newVote(request, { ...bob, judgedStage: undefined as unknown as number }))).toBe(
      'stage_over',
    );
    expect(await store.castVote(newVote(request, { ...bob, judgedStage: 2, stage: 2 }))).toBe('counted');
    expect((await store.find(request.id))?.status).toBe('approved');
  });
});
