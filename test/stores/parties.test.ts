import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { createBreakGlassStore } from '../../apps/approvals/stores/break-glass.store.ts';
import { createDelegationStore } from '../../apps/approvals/stores/delegation.store.ts';
import { principalOf } from '../../apps/shared/auth/principal-of.ts';
import { EMPTY_DIRECTORY } from '../../apps/shared/directory/directory.ts';
import { ineligibilityOf } from '../../workflows/domain/access-request/eligibility.ts';
import { behind, partiesOf, type PartiesSource } from '../../workflows/domain/access-request/parties.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { submissionBody } from '../../workflows/domain/gated-call/submission.ts';
import type { Principal } from '../../workflows/domain/principal.ts';
import { anApprover, newAccessRequest, newVote } from '../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { times } from '../support/regime.ts';

const ISSUER = 'https://idp.test';
const PEOPLE = ['ann', 'ben', 'cem', 'dee'] as const;
const PROGRAMS = ['host', 'desk', 'bot'] as const;
/** Names of all kinds collide: a client in one token is a subject in another. */
const anyName = fc.constantFrom(...PEOPLE, ...PROGRAMS);
const person = fc.constantFrom(...PEOPLE);
const some = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });

interface Act {
  readonly sub?: string | undefined;
  readonly client_id?: string | undefined;
  readonly act?: Act | undefined;
}
const { act } = fc.letrec<{ act: Act }>((tie) => ({
  act: fc
    .record({
      sub: some(anyName),
      client_id: some(anyName),
      act: fc.option(tie('act'), { nil: undefined, maxDepth: 3 }),
    })
    .map((one) => (one.sub === undefined && one.client_id === undefined ? { ...one, sub: 'ann' } : one)),
}));
const token = fc.record({
  sub: person,
  email: some(person.map((name) => `${name}@x`)),
  client_id: some(anyName),
  azp: some(anyName),
  act: fc.option(act, { nil: undefined, freq: 2 }),
});
type Token = Readonly<{
  sub: string;
  email: string | undefined;
  client_id: string | undefined;
  azp: string | undefined;
  act: Act | undefined;
}>;

const world = fc.record({
  identityClaim: fc.constantFrom('sub', 'email'),
  called: token,
  /** The party that a mapping of the operator names, instead of the caller. */
  mapped: some(
    fc.oneof(
      person,
      person.map((name) => `${name}@x`),
    ),
  ),
  /** Whether the enforcement point is a foreign one, which names only subject and agent. */
  isForeign: fc.boolean(),
  delegated: fc.array(fc.record({ by: token, to: anyName }), { maxLength: 3 }),
  voted: token,
  granted: token,
});
type World = Parameters<typeof told>[0] & {
  delegated: readonly { by: Token; to: string }[];
  voted: Token;
  granted: Token;
};

/** The oracle knows only claims: every name that a token contains. */
function namesIn({ sub, email, client_id, azp, act: chain }: Token, identityClaim: string): Set<string> {
  const names = [sub, client_id, azp, ...(identityClaim === 'email' ? [email] : [])];
  for (let at = chain; at !== undefined; at = at.act) names.push(at.sub, at.client_id);
  return new Set(names.filter((one) => one !== undefined));
}
const meet = (some: Iterable<string>, others: ReadonlySet<string>) => [...some].some((one) => others.has(one));

/** The parties that the enforcement point asked about, and the names that it knew. */
function told({
  identityClaim,
  called,
  mapped,
  isForeign,
}: {
  identityClaim: string;
  called: Token;
  mapped: string | undefined;
  isForeign: boolean;
}) {
  const subject = mapped ?? (identityClaim === 'email' ? called.email : undefined) ?? called.sub;
  const agent = called.client_id ?? called.azp;
  const names = isForeign
    ? new Set([subject, ...(agent === undefined ? [] : [agent])])
    : namesIn(called, identityClaim);
  return { subject, agent, names: new Set([...names, subject]) };
}

function expected({ identityClaim, delegated }: World, parties: ReadonlySet<string>, voices: ReadonlySet<string>) {
  if (meet(voices, parties)) return 'own_request';
  const isDelegate = delegated.some(({ by, to }) => meet(namesIn(by, identityClaim), parties) && voices.has(to));
  return isDelegate ? 'delegate_of_requester' : undefined;
}

function principal(of: Token, identityClaim: string): Principal {
  const read = principalOf(JSON.parse(JSON.stringify(of)) as JsonObject, { issuer: ISSUER, identityClaim });
  if (read === undefined) throw new Error('a good token was refused');
  return read;
}

/** The message to the access request service. */
function submitted(of: World): PartiesSource {
  const { subject: id, agent } = told(of);
  const evaluation = {
    subject: { type: 'identity', id },
    action: { name: 'tools/call' },
    resource: { type: 'tool', id: 'bank__pay' },
    context: agent === undefined ? {} : { agent },
  };
  if (of.isForeign) return evaluation;
  const body = submissionBody({
    evaluation,
    denial: { kind: 'requestable', offer: { endpoint: 'https://ars.test', expiresAt: '2126-01-01T00:00:00Z' } },
    caller: principal(of.called, of.identityClaim),
    callback: { endpoint: 'https://gw.test', state: 's' },
    generation: 1,
  });
  return JSON.parse(body) as PartiesSource;
}

describe('who has a part in a request', () => {
  let db: TestDatabase;
  beforeAll(async () => void (db = await createTestDatabase()));
  afterAll(() => db.drop());

  /**
   * One world after another: the people of each have names of their own, so that no delegation reaches into the next.
   */
  let worlds = 0;
  function apart<T>(value: T): T {
    const suffix = `.${(worlds += 1)}`;
    const keep = ['sub', 'email'];
    return JSON.parse(
      JSON.stringify(value, (key, one: unknown) =>
        typeof one === 'string' && !(key === 'identityClaim' && keep.includes(one)) ? `${one}${suffix}` : one,
      ),
    ) as T;
  }

  const parts = () => ({
    requests: createAccessRequestStore(db.pool),
    delegations: createDelegationStore(db.pool),
    glass: createBreakGlassStore(db.pool),
  });
  const voterOf = (of: Token, identityClaim: string) => ({
    approver: anApprover(of.sub, ['approver'], ISSUER),
    chain: behind(principal(of, identityClaim)),
  });

  async function open(of: World): Promise<string> {
    const { requests } = parts();
    const request = newAccessRequest({ parties: partiesOf(submitted(of)) });
    await requests.create(request);
    return request.id;
  }

  /** The answer of the domain, and of the database on its own. */
  async function answers(
    id: string,
    vote: Pick<Parameters<typeof newVote>[1] & object, 'approver' | 'chain' | 'standIn'>,
  ) {
    const { requests } = parts();
    const found = await requests.find(id);
    if (found === undefined || vote.approver === undefined) throw new Error('the request is gone');
    const voter = { ...vote.approver, castBy: vote.standIn?.subject, chain: vote.chain };
    const domain = ineligibilityOf(voter, found, EMPTY_DIRECTORY);
    const database = await requests.castVote(newVote({ id, callDigest: 'sha-256:call' }, vote));
    return [domain, database === 'counted' ? undefined : database];
  }

  it('apply one rule at every door: a vote counts unless a name behind it is that of a party, or of its delegate [ARAP-APV-01]', async () => {
    const { delegations, glass } = parts();
    await fc.assert(
      fc.asyncProperty(world, async (drawn) => {
        const of = apart(drawn as World);
        const { identityClaim, voted, granted } = of;
        const { names: parties } = told(of);
        const made: { id: string; by: string; to: string }[] = [];
        for (const { by, to } of of.delegated) {
          if (by.sub === to) continue;
          const { approver: delegator, chain } = voterOf(by, identityClaim);
          const id = `dlg_${randomUUID()}`;
          const until = new Date(Date.now() + 3_600_000).toISOString();
          await delegations.add({ id, delegator, chain, delegate: to, until });
          made.push({ id, by: by.sub, to });
        }
        const effective = { ...of, delegated: of.delegated.filter(({ by, to }) => by.sub !== to) };
        const voices = namesIn(voted, identityClaim);
        const { approver, chain } = voterOf(voted, identityClaim);

        // A vote in their own name, and in that of a person who delegated to them.
        const own = expected(effective, parties, voices);
        expect(await answers(await open(of), { approver, chain })).toEqual([own, own]);
        for (const { id, by } of made.filter(({ to }) => to === voted.sub)) {
          const inPlace = expected(effective, parties, new Set([...voices, by]));
          const standIn = { subject: voted.sub, delegationId: id };
          const vote = { approver: anApprover(by, ['approver'], ISSUER), chain, standIn };
          expect(await answers(await open(of), vote)).toEqual([inPlace, inPlace]);
        }

        // An emergency grant, and its review by another person.
        const broken = await open(of);
        const grant = {
          ...newVote({ id: broken, callDigest: 'sha-256:call' }, voterOf(granted, identityClaim)),
          reason: 'x',
        };
        const byGranter = expected(effective, parties, namesIn(granted, identityClaim));
        const outcome = await glass.breakGlass(grant, 60_000);
        expect(outcome).toBe(byGranter ?? 'counted');
        if (outcome !== 'counted') return;
        const involved = new Set([...parties, ...namesIn(granted, identityClaim)]);
        const reviewed = await glass.review(broken, { subject: voted.sub, chain }, undefined);
        expect(reviewed).toBe(expected(effective, involved, voices) === undefined ? 'reviewed' : 'own_request');
      }),
      { numRuns: times(150, 5_000) },
    );
  });
});
