import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JWTPayload } from 'jose';
import { join } from 'node:path';
import { type ListedRequest, listOpenRequests } from '../support/decisions.ts';
import { startEnforcement, type Enforcement } from '../support/enforcement.ts';
import { waitFor } from '../support/wait-for.ts';

const ALICE = { sub: 'u-alice', email: 'alice@example.test' };
const BOB = { sub: 'u-bob', email: 'bob@example.test' };
const DAVE = { sub: 'u-dave', email: 'dave@example.test' };
const HOST = { client_id: 'agent-7' };
const DESK = { client_id: 'desk' };
const BY_BOB = { ...BOB, ...HOST };
const BY_DAVE = { ...DAVE, ...HOST };

/** The claims of the call's token, and those of a vote by a party to it. */
const OWN: readonly (readonly [string, JWTPayload, JWTPayload])[] = [
  ['the caller, whom policies know by another claim', BY_BOB, { ...BOB, ...DESK }],
  ['the caller, with only the subject in the token', BY_BOB, { sub: BOB.sub, ...DESK }],
  ['a bearer of the name that policies know', BY_BOB, { ...DAVE, email: BOB.email, ...DESK }],
  ['the actor of the call', { ...DAVE, ...HOST, act: { sub: ALICE.sub } }, { ...ALICE, ...DESK }],
  [
    'an actor behind the actor',
    { ...DAVE, ...HOST, act: { sub: 'planner', act: { sub: 'x', act: { sub: ALICE.sub } } } },
    { ...ALICE, ...DESK },
  ],
  ['the client of an actor', { ...DAVE, ...HOST, act: { client_id: 'planner' } }, { ...ALICE, client_id: 'planner' }],
  ['the client that called', BY_DAVE, { ...ALICE, ...HOST }],
  ['the client that called, by azp alone', { ...DAVE, azp: 'agent-7' }, { ...ALICE, azp: 'agent-7' }],
  ['the azp beside another client', { ...DAVE, ...HOST, azp: 'agent-8' }, { ...ALICE, client_id: 'agent-8' }],
  ['a client whose azp called', BY_DAVE, { ...ALICE, ...DESK, azp: 'agent-7' }],
  ['the caller, acting for an approver', BY_BOB, { ...ALICE, ...DESK, act: { sub: BOB.sub } }],
  ['the client that called, as an actor', BY_DAVE, { ...ALICE, ...DESK, act: { sub: 'agent-7' } }],
];

/** From the token of the call to the vote, over the wire between the two sides. */
describe('a token of a party to a call', () => {
  let product: Enforcement;
  beforeAll(async () => {
    product = await startEnforcement({
      own: ['pdp', 'approvals'],
      // Nothing here waits for what a vote leads to.
      hasWorker: false,
      config: {
        gateway: { coaz: { identityClaim: 'email' } },
        // Agents may read and decide here, so a refusal comes from their part in the call.
        approvals: {
          templates: {
            operator_approval: { stages: [{ name: 'all', approvers: { roles: ['approver', 'approver-agent'] } }] },
          },
        },
      },
    });
  });
  afterAll(() => product.stop());

  /** The requests of calls that wait, by the claims of the call's token. */
  const opened = new Map<JWTPayload, ListedRequest>();
  const open = async (claims: JWTPayload): Promise<ListedRequest> => {
    const path = join(product.files, `${opened.size}.txt`);
    const token = await product.tokenWith('mcp', claims);
    const { taskId } = await product.call('write_file', { path, content: 'x' }, token);
    expect(taskId).toEqual(expect.stringMatching(/^tsk_/));
    const known = new Set([...opened.values()].map(({ id }) => id));
    const alice = await product.token('alice', 'approvals');
    const request = await waitFor(async () =>
      (await listOpenRequests(product.config.urls.approvals, alice)).find(({ id }) => !known.has(id)),
    );
    opened.set(claims, request);
    return request;
  };
  const vote = async (request: { id: string; callDigest: string }, claims: JWTPayload, role = 'approver') => {
    const token = await product.tokenWith('approvals', { roles: [role], ...claims });
    const answer = await fetch(`${product.config.urls.approvals}/requests/${request.id}/votes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ verdict: 'approve', callDigest: request.callDigest }),
    });
    return [answer.status, ((await answer.json()) as { title?: string }).title] as const;
  };

  it.each(OWN)('cannot approve it as %s [ARAP-APV-01] [ARAP-DLG-02]', async (_who, called, voted) => {
    const request = opened.get(called) ?? (await open(called));
    const refused = [403, 'You requested this yourself'];
    expect(await vote(request, voted)).toEqual(refused);
    expect(await vote(request, voted, 'approver-agent')).toEqual(refused);
  });

  it('leaves each to another approver, who has no part in it', async () => {
    expect(opened.size).toBeGreaterThan(5);
    const another = { sub: 'u-carol', email: 'carol@example.test', ...DESK };
    for (const request of opened.values()) expect((await vote(request, another))[0]).toBe(200);
  });
});
