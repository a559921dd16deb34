import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { delegationsFor, obstacleTo, readerRowOf, type Seat } from '../../apps/approvals/inbox/seat.ts';
import { createAccessRequestStore, type AccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createBreakGlassStore } from '../../apps/approvals/stores/break-glass.store.ts';
import { createDelegationStore } from '../../apps/approvals/stores/delegation.store.ts';
import { LIST_CHOICES, type ListChoice } from '../../apps/approvals/listing.ts';
import { readDirectory } from '../../apps/shared/directory/directory.ts';
import { mayRead, OVERSEER_ROLE } from '../../workflows/domain/access-request/eligibility.ts';
import { anApprover, aStage, newAccessRequest } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { aGroup, aUser, directoryText } from '../support/directory.ts';

const PEOPLE = ['ann', 'ben', 'cleo', 'dan', 'gone', 'robot', 'stranger'] as const;
const GROUPS = ['red', 'blue'] as const;
const ROLES = ['approver', 'officer', 'approver-agent'] as const;
const managedBy = (value: string) => ({
  'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { manager: { value } },
});
const people = readDirectory(
  directoryText(
    aUser('ann', managedBy('ben')),
    aUser('ben', managedBy('cleo')),
    ...['cleo', 'dan', 'robot'].map((name) => aUser(name)),
    aUser('gone', { active: false, ...managedBy('ann') }),
    aGroup('red', ['ann', 'gone']),
    aGroup('blue', ['ben', 'red']),
  ),
  'userName',
);

const some = <T extends string>(values: readonly T[], maxLength = 2) =>
  fc.uniqueArray(fc.constantFrom(...values), { maxLength });
const aPerson = fc.constantFrom(...PEOPLE);
const electorate = fc.record({
  people: some(PEOPLE),
  groups: some(GROUPS, 1),
  roles: some(ROLES, 1),
  owners: fc.option(fc.record({ people: some(PEOPLE, 1), groups: some(GROUPS, 1) }), { nil: undefined }),
  requesterManager: fc.boolean(),
  confirmers: fc.option(some(PEOPLE), { freq: 3, nil: undefined }),
});
/** Every attribute that decides who may read a request or vote on it. */
const request = fc.record({
  requester: aPerson,
  parties: some(PEOPLE),
  stages: fc.array(electorate, { minLength: 1, maxLength: 3 }),
  stage: fc.nat(2),
  separateStages: fc.boolean(),
  votes: fc.uniqueArray(fc.record({ approver: aPerson, castBy: aPerson, actors: some(PEOPLE, 1), stage: fc.nat(2) }), {
    maxLength: 2,
    selector: ({ approver, castBy }) => `${approver}/${castBy}`,
  }),
  status: fc.constantFrom('pending', 'pending', 'denied', 'cancelled', 'expired', 'approved'),
  takenBackBy: aPerson,
  handedOver: fc.option(fc.record({ from: aPerson, to: aPerson }), { nil: undefined }),
  emergency: fc.option(fc.record({ grantedBy: aPerson, reviewedBy: fc.option(aPerson) }), { freq: 4 }),
});
type Generated = typeof request extends fc.Arbitrary<infer T> ? T : never;

describe('the readers of access requests', () => {
  let database: TestDatabase;
  let store: AccessRequestStore;
  const ids: string[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    store = createAccessRequestStore(database.pool);
  });
  afterAll(() => database.drop());

  const row = (table: string, values: Record<string, unknown>) =>
    database.pool.query(
      `INSERT INTO approvals.${table} (${Object.keys(values).join(', ')}) SELECT ${Object.keys(values).join(', ')}
       FROM jsonb_populate_record(NULL::approvals.${table}, $1)`,
      [JSON.stringify(values)],
    );

  /** Puts a request with these attributes into the database, past the functions that would refuse some of them. */
  async function put(generated: Generated): Promise<void> {
    const { requester, parties, stages, votes, separateStages, status, emergency, takenBackBy } = generated;
    const electorates = stages.map(({ owners, confirmers: subjects, ...rest }) => ({
      ...rest,
      ...(owners && { owners }),
      ...(subjects && { requester: { issuer: 'https://idp.test', subjects, freshSeconds: 300 } }),
    }));
    const opened = newAccessRequest({
      requester: { issuer: undefined, subject: requester, clientId: undefined },
      parties,
      separateStages,
      stages: electorates.map((approvers, at) => aStage({ name: `stage ${at}`, approvers })),
    });
    await store.create(opened);
    for (const { approver, castBy, actors, stage } of votes) {
      const ownName = approver === castBy;
      const delegationId = `dlg_${randomUUID()}`;
      if (!ownName) await delegate(approver, castBy, { id: delegationId, revoked: true });
      await row('vote', {
        ...{
          access_request_id: opened.id,
          stage: (stage % stages.length) + 1,
          approver_issuer: 'i',
          verdict: 'approve',
        },
        ...{
          counts_in: separateStages ? 0 : (stage % stages.length) + 1,
          approver_subject: approver,
          approver_roles: [],
        },
        ...{ cast_by: castBy, actors, delegation_id: ownName ? null : delegationId, call_digest: 'x', via: 'api' },
        at: new Date(),
      }).catch(unlessOneVoice);
    }
    const stage = (generated.stage % stages.length) + 1;
    const approval = `, approval_id = '${opened.id}', approved_at = now(), approved_until = now() + interval '1 hour'`;
    const note = `, end_note = '${JSON.stringify({ by: { issuer: 'i', subject: takenBackBy } })}'`;
    const end = `, status = '${status}', ended_at = clock_timestamp()`;
    const ended = { pending: '', approved: end + approval, cancelled: end + note, denied: end, expired: end }[status];
    await database.pool.query(`UPDATE approvals.access_request SET stage = $2${ended} WHERE id = $1`, [
      opened.id,
      stage,
    ]);
    if (status === 'approved') {
      const revocation = { access_request_id: opened.id, by_issuer: 'i', by_subject: takenBackBy, via: 'api' };
      await row('revocation', { ...revocation, at: new Date() });
    }
    const { grantedBy, reviewedBy } = emergency ?? {};
    if (emergency !== null && reviewedBy !== grantedBy) {
      await row('break_glass', {
        ...{
          access_request_id: opened.id,
          issuer: 'i',
          granted_by: grantedBy,
          reason: 'x',
          call_digest: 'x',
          via: 'api',
        },
        ...{ at: new Date(), reviewed_by: reviewedBy ?? null, reviewed_at: reviewedBy ? new Date() : null },
      });
    }
    const { handedOver } = generated;
    if (handedOver !== undefined && handedOver.from !== handedOver.to)
      await delegate(handedOver.from, handedOver.to, { request: opened.id });
    ids.push(opened.id);
  }

  const readAll = () =>
    Promise.all(
      ids.map(async (id) => {
        const found = await store.find(id);
        if (found === undefined) throw new Error('the request to read is missing');
        return { request: found, emergency: await createBreakGlassStore(database.pool).find(id) };
      }),
    );

  /** Of two votes with one voice the database takes the first. */
  const unlessOneVoice = (error: Error & { code?: string }) => {
    if (error.code !== '23505') throw error;
  };

  const delegate = (
    from: string,
    to: string,
    { id = `dlg_${randomUUID()}`, revoked = false, request = null as string | null } = {},
  ) =>
    row('delegation', {
      ...{ id, delegator_issuer: 'i', delegator_subject: from, delegator_roles: ['officer'], delegate_subject: to },
      ...{ created_at: new Date(Date.now() - 1_000), until: new Date(Date.now() + 3_600_000) },
      revoked_at: revoked ? new Date(Date.now() - 500) : null,
      access_request_id: request,
    });

  async function listed(choice: ListChoice, reader: string): Promise<{ ids: string[]; count: number | undefined }> {
    const listedIds: string[] = [];
    for (let cursor = undefined as Parameters<typeof store.list>[1]['cursor']; ;) {
      const page = await store.list({ choice, order: 'oldest', filter: {}, reader }, { cursor, limit: 9 });
      listedIds.push(...page.rows.map(({ id }) => id));
      if (page.next === undefined) return { ids: listedIds, count: page.count };
      expect(page.rows).toHaveLength(9);
      cursor = page.next;
    }
  }

  it('are the same in the lists of the store as in the rule, for every reader, request and list [ARAP-APV-06]', async () => {
    await delegate('ben', 'dan');
    await delegate('gone', 'dan');
    await delegate('dan', 'cleo', { revoked: true });
    const reader = fc.record({
      subject: aPerson,
      roles: some([...ROLES, OVERSEER_ROLE], 2),
      isAgent: fc.boolean(),
      mayBreakGlass: fc.boolean(),
      chain: some(PEOPLE, 1),
      aliases: some(PEOPLE, 1),
      actsFor: fc.boolean(),
      isInBrowser: fc.boolean(),
    });
    const drawn = fc.record({
      requests: fc.array(request, { minLength: 30, maxLength: 30 }),
      readers: fc.array(reader, { minLength: 9, maxLength: 9 }),
    });
    await fc.assert(
      fc.asyncProperty(drawn, async ({ requests, readers }) => {
        for (const one of requests) await put(one);
        const all = await readAll();
        for (const { subject, roles, isAgent, mayBreakGlass, chain, aliases, actsFor, isInBrowser } of readers) {
          // A chain that belongs to no client consists of actors.
          const actors = actsFor ? chain : [];
          const delegations = isAgent ? [] : await createDelegationStore(database.pool).activeTo(subject);
          const via = isAgent ? 'agent' : 'api';
          // No program is behind a session.
          const session = isInBrowser && !isAgent && !actsFor ? { session: { id: 'a session' } } : {};
          const visitor = {
            ...anApprover(subject, roles),
            name: subject,
            aliases,
            via,
            chain,
            actors,
            ...session,
          } as const;
          const seat: Seat = { visitor, delegations, people, mayBreakGlass: mayBreakGlass && !isAgent };
          const who = (id: string) => ({
            ...{ self: visitor, isPerson: !isAgent, mayBreakGlass: seat.mayBreakGlass },
            standsInFor: delegationsFor(id, seat).map(({ delegator }) => delegator),
          });
          const sql = readerRowOf(seat);
          for (const choice of LIST_CHOICES) {
            const expected = all
              .filter(({ request: one, emergency }) =>
                choice === 'yours'
                  ? obstacleTo(seat, one) === undefined
                  : (one.status === choice || (choice === 'ended' && one.status !== 'pending')) &&
                    mayRead(who(one.id), { ...one, emergency }, people),
              )
              .map(({ request: { id } }) => id);
            const { ids: found, count } = await listed(choice, sql);
            expect([subject, choice, found.toSorted()]).toEqual([subject, choice, expected.toSorted()]);
            if (count !== undefined) expect(count).toBe(expected.length);
          }
        }
      }),
      { numRuns: 4, endOnFailure: true },
    );
  });
});
