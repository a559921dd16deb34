import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createBreakGlassStore } from '../../apps/approvals/stores/break-glass.store.ts';
import { createDelegationStore } from '../../apps/approvals/stores/delegation.store.ts';
import { createGrantStore } from '../../apps/approvals/stores/grant.store.ts';
import type { NewAccessRequest, NewVote } from '../../apps/approvals/stores/new-rows.ts';
import { principalOf } from '../../apps/shared/auth/principal-of.ts';
import { EMPTY_DIRECTORY } from '../../apps/shared/directory/directory.ts';
import type { Approver } from '../../workflows/domain/access-request/access-request.ts';
import { ineligibilityOf } from '../../workflows/domain/access-request/eligibility.ts';
import { behind } from '../../workflows/domain/access-request/parties.ts';
import { earlierVote, tally } from '../../workflows/domain/access-request/quorum.ts';
import { keysOf } from '../../workflows/domain/access-request/same-person.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { anApprover, aStage, newAccessRequest, newVote } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { givenGrant, grantableRequest } from '../support/grants.ts';
import { times } from '../support/regime.ts';

const ISSUER = 'https://idp.test';

/** A name, and how a token spells it. The oracle knows the names alone. */
const SPELLINGS = [
  (name: string) => name,
  (name: string) => name.toUpperCase(),
  (name: string) => ` ${name}\u00A0`,
  (name: string) => `${name.slice(0, 1)}\u200B${name.slice(1)}`,
  (name: string) => name.replace('a', '\uFF41').replace('é', 'e\u0301'),
] as const;
const name = fc.record({
  of: fc.constantFrom('anna', 'émile', 'fu\u00DF', 'c-3', 'd@x.test'),
  spelling: fc.constantFrom(...SPELLINGS),
});
type Name = typeof name extends fc.Arbitrary<infer T> ? T : never;

/** Tokens of issuers that give one person several subjects. `also`: their other name in the token. */
const SHAPES = {
  'Entra ID': (sub: string, also: string) => ({ sub, oid: also, tid: 'tenant', azp: 'app' }),
  'an access token of Okta': (sub: string, also: string) => ({ sub, uid: also, cid: 'app' }),
  'the claim that policies know': (sub: string, also: string) => ({ sub, person: also, client_id: 'app' }),
  'one name': (sub: string) => ({ sub, client_id: 'app', azp: 'the same app' }),
} as const;
const token = fc.record({
  shape: fc.constantFrom(...(Object.keys(SHAPES) as (keyof typeof SHAPES)[])),
  sub: name,
  also: name,
});
type Token = typeof token extends fc.Arbitrary<infer T> ? T : never;

const namesOf = ({ shape, sub, also }: Token): string[] => (shape === 'one name' ? [sub.of] : [sub.of, also.of]);
const spelled = ({ of, spelling }: Name) => spelling(of);

function personOf({ shape, sub, also }: Token): Approver & { readonly chain: readonly string[] } {
  const claims = SHAPES[shape](spelled(sub), spelled(also)) as JsonObject;
  const principal = principalOf(claims, { issuer: ISSUER, identityClaim: 'person' });
  if (principal === undefined) throw new Error('a good token was refused');
  const { subject, aliases = [], clientAliases = [] } = principal;
  const own = aliases.filter((one) => !clientAliases.includes(one));
  return { ...anApprover(subject, ['approver'], ISSUER), aliases: own, chain: behind(principal) };
}

describe('one person with several names', () => {
  let db: TestDatabase;
  beforeAll(async () => void (db = await createTestDatabase()));
  afterAll(() => db.drop());

  const stores = () => ({
    requests: createAccessRequestStore(db.pool),
    delegations: createDelegationStore(db.pool),
    glass: createBreakGlassStore(db.pool),
    grants: createGrantStore(db.pool),
  });

  async function open(changes: Partial<NewAccessRequest> = {}) {
    const request = newAccessRequest({
      stages: [aStage({ quorum: 3 })],
      requester: { issuer: ISSUER, subject: 'rita', clientId: 'an-agent' },
      ...changes,
    });
    await stores().requests.create(request);
    return request;
  }

  const voteOf = ({ chain, ...approver }: ReturnType<typeof personOf>, more: Partial<NewVote> = {}) => ({
    ...{ approver, chain },
    ...more,
  });

  /** Whether each door takes the second token for another person than the first. */
  type Door = (first: ReturnType<typeof personOf>, second: ReturnType<typeof personOf>) => Promise<unknown>;
  const castBy = async (who: ReturnType<typeof personOf>, changes: Partial<NewAccessRequest> = {}) => {
    const request = await open(changes);
    expect(await stores().requests.castVote(newVote(request, voteOf(who)))).toBe('counted');
    return request;
  };
  const delegated = async (from: ReturnType<typeof personOf>, to: string, aliases: readonly string[] = []) => {
    const { chain, ...delegator } = from;
    const id = `dlg_${randomUUID()}`;
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const outcome = await stores().delegations.add({
      id,
      delegator,
      chain,
      delegate: to,
      delegateAliases: aliases,
      until,
    });
    return { id, outcome };
  };
  const handedOver = (
    { id: requestId }: NewAccessRequest,
    from: ReturnType<typeof personOf>,
    to: Pick<Approver, 'subject' | 'aliases'>,
  ) => {
    const { chain, ...delegator } = from;
    const order = { id: `dlg_${randomUUID()}`, requestId, delegator, chain, stage: 1, judgedStage: 1, number: 1 };
    return stores().delegations.handOver({ ...order, delegate: to.subject, delegateAliases: to.aliases ?? [] });
  };
  const other = (subject: string) => ({ ...anApprover(subject, ['approver'], ISSUER), chain: [] });

  const DOORS: Readonly<Record<string, readonly [Door, readonly unknown[]]>> = {
    'a vote after a vote': [
      async (first, second) => stores().requests.castVote(newVote(await castBy(first), voteOf(second))),
      ['already_voted', 'repeated'],
    ],
    'a signed message after a vote': [
      async (first, second) => {
        const message = { source: 'decisions', webhookId: randomUUID(), bodyDigest: 'x' };
        const vote = newVote(await castBy(first), voteOf(second, { via: 'webhook' }));
        return stores().requests.acceptDecision(message, vote);
      },
      ['already_voted', 'repeated'],
    ],
    'a vote in the next stage, after one in the first': [
      async (first, second) => {
        const request = await castBy(first, { stages: [aStage(), aStage({ name: 'next', quorum: 2 })] });
        return stores().requests.castVote(newVote(request, voteOf(second, { stage: 2, judgedStage: 2 })));
      },
      ['already_voted'],
    ],
    'a vote by a stand-in, after a vote of the approver': [
      async (first, second) => {
        const request = await castBy(first);
        const { id: delegationId } = await delegated(second, 'zoe');
        const standIn = { subject: 'zoe', delegationId };
        return stores().requests.castVote(newVote(request, { ...voteOf(second), standIn }));
      },
      ['already_voted'],
    ],
    'a vote for another person, after an own one': [
      async (first, second) => {
        const request = await castBy(first);
        const { subject, aliases = [], chain } = second;
        const { id: delegationId } = await delegated(other('yan'), subject, aliases);
        const standIn = { subject, aliases, delegationId };
        const { chain: _none, ...approver } = other('yan');
        return stores().requests.castVote(newVote(request, { approver, standIn, chain }));
      },
      ['already_voted'],
    ],
    'a hand-over to a person after a vote': [
      async (first, second) => handedOver(await castBy(first), other('xan'), second),
      ['delegate_voted'],
    ],
    'a hand-over to oneself': [async (first, second) => handedOver(await open(), first, second), ['to_oneself']],
    'a delegation to oneself': [
      async (first, second) => (await delegated(first, second.subject, second.aliases)).outcome,
      ['to_oneself'],
    ],
    'a second hand-over': [
      async (first, second) => {
        const request = await open();
        expect(await handedOver(request, first, { subject: 'wim' })).toBe('handed_over');
        return handedOver(request, second, { subject: 'vic' });
      },
      ['handed_before'],
    ],
    'a hand-over after an own vote': [
      async (first, second) => handedOver(await castBy(first), second, { subject: 'uma' }),
      ['already_voted'],
    ],
    'a question after a vote': [
      async (first, second) => {
        const { id: requestId } = await castBy(first);
        const order = { requestId, delegationId: undefined, stage: 1, judgedStage: 1, number: 1 } as const;
        const { roles: _roles, ...by } = second;
        return stores().requests.askRequester({ ...order, by, approver: second, question: 'Why?', via: 'inbox' });
      },
      ['already_voted'],
    ],
    'a vote on a request of their own': [
      async (first, second) => {
        const request = await open({ parties: keysOf([first.subject, ...(first.aliases ?? [])]) });
        return stores().requests.castVote(newVote(request, voteOf(second)));
      },
      ['own_request'],
    ],
    'a grant on a request of their own': [
      async (first, second) => {
        const parties = keysOf([first.subject, ...(first.aliases ?? [])]);
        return (await givenGrant(stores(), grantableRequest({ parties }), { vote: voteOf(second) })).outcome;
      },
      ['own_request'],
    ],
    'a review of an emergency grant of their own': [
      async (first, second) => {
        const request = await open();
        const grant = { ...newVote(request, voteOf(first)), reason: 'fire' };
        expect(await stores().glass.breakGlass({ ...grant, chain: [] }, 60_000)).toBe('counted');
        return stores().glass.review(request.id, { ...second, chain: [] }, undefined);
      },
      ['own_request'],
    ],
    'the rule of the domain, after a vote': [
      async (first, second) => {
        const found = await stores().requests.find((await castBy(first)).id);
        return found && earlierVote(found, second, 1)?.verdict;
      },
      ['approve'],
    ],
    'the count of the domain': [
      async (first, second) => {
        const [given, more] = await Promise.all([castBy(first), castBy(second)]);
        const found = await Promise.all([given, more].map(({ id }) => stores().requests.find(id)));
        return tally({ stages: [aStage({ quorum: 3 })], stage: 1, votes: found.flatMap((one) => one?.votes ?? []) })
          .approvals;
      },
      [1],
    ],
    'the rule of the domain for parties': [
      async (first, second) => {
        const { id } = await open({ parties: keysOf([first.subject, ...(first.aliases ?? [])]) });
        const found = await stores().requests.find(id);
        return found && ineligibilityOf({ ...second, chain: [] }, found, EMPTY_DIRECTORY);
      },
      ['own_request'],
    ],
  };

  it.each(Object.entries(DOORS))('is one person at this door: %s [ARAP-APV-01]', async (_door, [door, refusals]) => {
    const seen = new Set<boolean>();
    await fc.assert(
      fc.asyncProperty(token, token, async (one, another) => {
        const isOne = namesOf(one).some((of) => namesOf(another).includes(of));
        seen.add(isOne);
        const answer = await door(personOf(one), personOf(another));
        expect([isOne, refusals.includes(answer), answer]).toEqual([isOne, isOne, answer]);
        // A later request takes no person for another: each delegation is over with its own world.
        await db.pool.query('UPDATE approvals.delegation SET revoked_at = clock_timestamp() WHERE revoked_at IS NULL');
      }),
      { numRuns: times(60, 1_000) },
    );
    expect(seen).toEqual(new Set([true, false]));
  });

  it('has one vote where one counts, also where a statement past the functions writes the row', async () => {
    const request = await castBy({ ...other('pairwise-1'), aliases: ['O'] });
    const forged = `INSERT INTO approvals.vote (access_request_id, stage, counts_in, approver_issuer, approver_subject, approver_roles,
        cast_by, actors, names, verdict, call_digest, via)
      VALUES ($1, 1, 0, 'i', 'pairwise-2', '{}', 'pairwise-2', '{}', $2, 'approve', 'd', 'api')`;
    await expect(db.pool.query(forged, [request.id, ['o']])).rejects.toMatchObject({ code: '23505' });
    await db.pool.query(forged, [request.id, ['p']]);
  });

  it('shares no voice with another person who uses the same program', async () => {
    const request = await castBy(personOf({ shape: 'one name', sub: plain('anna'), also: plain('anna') }));
    const bob = personOf({ shape: 'one name', sub: plain('c-3'), also: plain('c-3') });
    expect(await stores().requests.castVote(newVote(request, voteOf(bob)))).toBe('counted');
  });
});

const plain = (of: string): Name => ({ of, spelling: SPELLINGS[0] });
