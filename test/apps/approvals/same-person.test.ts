import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JWTPayload } from 'jose';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { aUser, directoryText } from '../../support/directory.ts';

const folder = mkdtempSync(join(tmpdir(), 'one-person-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const VOTED = [409, 'You have already decided this'];
type Opened = Awaited<ReturnType<ApprovalsUnderTest['open']>>;

/** Pairs of tokens that issuers give one person. */
const PAIRS: readonly (readonly [string, JWTPayload, JWTPayload])[] = [
  ['Entra ID', { sub: 'pairwise-1', oid: 'O', tid: 'T' }, { sub: 'pairwise-2', oid: 'O', tid: 'T' }],
  ['Okta', { sub: 'bea@x.test', uid: 'U', client_id: undefined, cid: 'app' }, { sub: 'U' }],
  ['the claim by which policies know people', { sub: 's-1', name: 'Cara' }, { sub: 's-2', name: 'Cara' }],
  ['another spelling', { sub: 'Dora' }, { sub: 'dora ' }],
  ['an actor', { sub: 'someone', act: { sub: 'E-1' } }, { sub: 'x', uid: 'e-1', client_id: undefined, cid: 'app' }],
];

describe('a person to whom the issuer gives two subjects', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => {
    const file = join(folder, 'people.json');
    const users = ['zoe', 'yan', 'alice', 'bob'].map((one) => aUser(one));
    writeFileSync(file, directoryText(...users, aUser('U-9', { userName: 'fay@x.test', externalId: 'E-9' })));
    return service.start({
      gateway: { coaz: { identityClaim: 'name' } },
      directory: { file, subjectAttribute: 'userName' },
      approvals: {
        webhookApprovers: { people: ['fay@x.test'] },
        templates: {
          two: { stages: [{ name: 'all', approvers: { roles: ['approver'] }, quorum: 2 }] },
          stages: {
            stages: [
              { name: 'one', approvers: { roles: ['approver'] } },
              { name: 'two', approvers: { roles: ['approver'] } },
            ],
          },
        },
        breakGlass: { enabled: true, approvers: { people: [], roles: ['approver'] } },
      },
    });
  });
  afterAll(() => service.stop());

  const ask = async (path: string, claims: JWTPayload, body?: object) => {
    const authorization = `Bearer ${await service.tokenWith({ roles: ['approver'], ...claims })}`;
    const headers = { authorization, 'content-type': 'application/json', accept: 'application/json' };
    return service.fetch(path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
  };
  const post = async (path: string, claims: JWTPayload, body: object) => {
    const answer = await ask(path, claims, body);
    return [answer.status, answer.body.title];
  };
  const open = (template = 'two') => service.open({ subject: 'rita', agent: 'shop-bot', claims: { template } });
  const vote = ({ id, callDigest }: Opened, claims: JWTPayload, more: object = {}) =>
    post(`/requests/${id}/votes`, claims, { verdict: 'approve', callDigest, ...more });
  const read = async ({ id }: Opened, claims: JWTPayload) => (await ask(`/requests/${id}`, claims)).body.request;

  describe.each(PAIRS)('by %s', (_issuer, first, second) => {
    it('fills no quorum of two alone, and is offered nothing after their vote [ARAP-APV-01]', async () => {
      const request = await open();
      expect((await vote(request, first))[0]).toBe(200);
      expect(await vote(request, second)).toEqual(VOTED);
      const seen = await read(request, second);
      expect(seen).toMatchObject({ status: 'pending', approvals: 1, obstacle: 'already_voted' });
      expect(seen.handOver ?? seen.question).toBeUndefined();
      const item = { id: request.id, generation: 1, stage: 1, callDigest: request.callDigest };
      const batch = { verdict: 'approve', item: Object.values(item).join(' ') };
      expect((await ask('/requests/batch', second, batch)).body.results).toMatchObject([{ isCounted: false }]);
      expect(
        await post(`/requests/${request.id}/questions`, second, { question: 'Why?', stage: 1, number: 1 }),
      ).toEqual(VOTED);
      expect((await read(request, second)).status).toBe('pending');
    });

    it('decides one stage of a request, and hears that a second decision does not count', async () => {
      const request = await open('stages');
      expect((await vote(request, first, { stage: 1 }))[0]).toBe(200);
      expect(await vote(request, first, { stage: 2 })).toEqual(VOTED);
      expect(await vote(request, second, { stage: 2 })).toEqual(VOTED);
      expect(await read(request, second)).toMatchObject({ status: 'pending', stage: { position: 2 } });
    });

    it('reviews no emergency grant of their own', async () => {
      const { id, callDigest } = await open();
      expect((await post(`/requests/${id}/break-glass`, first, { callDigest, reason: 'fire' }))[0]).toBe(200);
      const refused = [403, 'You cannot review this grant'];
      expect(await post(`/requests/${id}/review`, second, { note: 'fine' })).toEqual(refused);
    });
  });

  it('has one voice across a signed message and a sign-in, by the names that the directory has', async () => {
    const request = await open();
    expect((await service.voteByWebhook('fay@x.test', request, 'approve')).status).toBe(200);
    for (const sub of ['U-9', 'E-9', 'FAY@x.test']) expect((await vote(request, { sub }))[0]).not.toBe(200);
    expect(await vote(request, { sub: 'U-9' })).toEqual(VOTED);
    expect(await vote(request, { sub: 'zoe' })).toEqual([200, undefined]);
  });

  it('keeps other names of a person out of every answer', async () => {
    const request = await open();
    await vote(request, { sub: 'pairwise-1', oid: 'hidden-name', tid: 'T' });
    const seen = await ask(`/requests/${request.id}`, { sub: 'zoe' });
    expect(JSON.stringify(seen.body)).toContain('pairwise-1');
    expect(JSON.stringify(seen.body)).not.toContain('hidden-name');
  });

  it('cannot delegate to themselves', async () => {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const own = [400, 'You cannot stand in for yourself'];
    expect(await post('/delegations', { sub: 'alice' }, { delegate: 'alice', until })).toEqual(own);
  });
});
