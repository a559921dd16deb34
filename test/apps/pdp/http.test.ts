import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PolicyVersion } from '../../../apps/pdp/engine/policy-engine.ts';
import type { PdpHttp } from '../../../apps/pdp/http/app.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { aTransfer, PDP_URL, startTestPdp, type PostOptions } from '../../support/pdp.ts';

let pdp: Awaited<ReturnType<typeof startTestPdp>>;
beforeAll(async () => void (pdp = await startTestPdp()));
afterAll(() => pdp.stop());

const EVALUATIONS = { path: '/access/v1/evaluations' } as const;
const small = () => aTransfer({ amount: 10 });
const without = (member: string) => Object.fromEntries(Object.entries(small()).filter(([name]) => name !== member));

describe('a broken request', () => {
  it.each<[string, unknown, string]>([
    ['no subject', without('subject'), 'subject is missing'],
    ['no action', without('action'), 'action is missing'],
    ['no resource', without('resource'), 'resource is missing'],
    ['a subject without id', { ...small(), subject: { type: 'identity' } }, 'subject.id is missing'],
    [
      'a subject whose id is a number',
      { ...small(), subject: { type: 'identity', id: 7 } },
      'subject.id is not of type string',
    ],
    ['a resource without type', { ...small(), resource: { id: 'x' } }, 'resource.type is missing'],
    ['an action with a numeric name', { ...small(), action: { name: 1 } }, 'action.name is not of type string'],
    ['a context that is a list', { ...small(), context: [] }, 'context is not of type object'],
    [
      'properties that are text',
      { ...small(), action: { name: 'x', properties: 'y' } },
      'action.properties is not of type object',
    ],
    ['a list', [], 'the body is not of type object'],
    ['text', '"x"', 'the body is not of type object'],
    ['a number', '1', 'the body is not of type object'],
    ['null', 'null', 'the body is missing'],
    ['text that is not JSON', '{"subject":', 'the body is not JSON'],
    ['nothing', '', 'subject is missing'],
    [
      'half a character in an id',
      { ...small(), subject: { type: 'identity', id: '\ud800' } },
      'the body has half a character (a surrogate without the other one)',
    ],
    [
      'a thousand levels',
      `{"context":${'['.repeat(1_000)}${']'.repeat(1_000)}}`,
      'the body has more than 200 levels of objects and lists: send it with fewer',
    ],
  ])(
    'is answered with 400 and a message: %s [AZ-IM-01, AZ-IM-02, AZ-IM-03, AZ-EV-02, AZ-TR-05, AZ-TR-06, AZ-TR-09, AZ-BX-09]',
    async (_name, body, message) => {
      for (const path of ['/access/v1/evaluation', '/access/v1/evaluations']) {
        const answer = await pdp.post(body, { path, headers: { 'X-Request-ID': 'id-1' } });
        expect([answer.status, answer.text]).toEqual([400, message]);
        expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
        expect(answer.headers.get('x-request-id')).toBe('id-1');
      }
    },
  );

  it.each(['text/plain', 'application/x-www-form-urlencoded', null])(
    'is answered with 400 for content type %s [AZ-TR-03]',
    async (type) => {
      const answer = await pdp.post(JSON.stringify(small()), { headers: { 'Content-Type': type } });
      expect([answer.status, answer.text]).toEqual([400, 'the content type is not application/json']);
    },
  );
  it('may name its character set [AZ-TR-02]', async () => {
    const answer = await pdp.post(small(), { headers: { 'Content-Type': 'application/json; charset=utf-8' } });
    expect(answer.body).toEqual({ decision: true });
  });

  it.each<[string, Record<string, string>]>([
    ['encoding', { 'Content-Encoding': 'compress' }],
    ['character set', { 'Content-Type': 'application/json; charset=latin1' }],
  ])('is answered with 415 for an unsupported %s', async (_name, headers) => {
    expect((await pdp.post(small(), { headers })).status).toBe(415);
  });

  it('is answered with 413 when it is too large, also after unpacking [AZ-TR-15]', async () => {
    const large = JSON.stringify(aTransfer({ memo: 'x'.repeat(200_000) }));
    expect((await pdp.post(large)).status).toBe(413);
    const packed = await pdp.post(gzipSync(large), { headers: { 'Content-Encoding': 'gzip' } });
    expect([packed.status, packed.text]).toEqual([413, 'the body is too large']);
  });

  it.each([
    [500, 'the fault is ours', new Error('a secret detail'), ['internal error', null]],
    [
      503,
      'the records cannot be reached',
      new CountersignError('ERR_DATABASE_UNAVAILABLE', 'a secret detail'),
      ['the records cannot be reached; ask again later', '5'],
    ],
  ])('is answered with only %s when %s [AZ-TR-09]', async (status, _when, fault, said) => {
    const broken = await startTestPdp({ decide: { verifyApproval: () => Promise.reject(fault) } });
    try {
      const answer = await broken.post(aTransfer({ approval: { id: 'x' } }));
      expect([answer.status, answer.text, answer.headers.get('retry-after')]).toEqual([status, ...said]);
    } finally {
      await broken.stop();
    }
  });
});

describe('credentials', () => {
  it.each<[string, string | null, string]>([
    ['none', null, `Bearer realm="${PDP_URL}"`],
    ['another scheme', 'Basic YTpi', `Bearer realm="${PDP_URL}"`],
    ['another token', 'Bearer a-token-of-another-client', `Bearer realm="${PDP_URL}", error="invalid_token"`],
    [
      'a token that begins like ours',
      'Bearer a-token-of-the-enforcement',
      `Bearer realm="${PDP_URL}", error="invalid_token"`,
    ],
  ])('are required: 401 for %s [AZ-SE-02, AZ-SE-03, AZ-SE-04, AZ-SE-05]', async (_name, authorization, challenge) => {
    for (const path of ['/access/v1/evaluation', '/access/v1/evaluations']) {
      const answer = await pdp.post('not even JSON', { path, headers: { Authorization: authorization } });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe(challenge);
    }
  });
  it('are not needed for public documents', async () => {
    for (const path of ['/.well-known/authzen-configuration', '/access/v1/jwks', '/healthz']) {
      expect((await fetch(pdp.origin + path)).status).toBe(200);
    }
  });
});

describe('a batch', () => {
  const of = (amounts: readonly number[], more: object = {}) => {
    const { subject, action, resource } = aTransfer();
    return { subject, action, resource, evaluations: amounts.map((amount) => ({ context: { amount } })), ...more };
  };
  const decisions = async (body: unknown, init: PostOptions = EVALUATIONS) =>
    (await pdp.post(body, init)).body.evaluations?.map((each) => each.decision);

  it('has one answer for each entry, in order [AZ-BX-03, AZ-BX-12, AZ-BX-15, AZ-BX-16]', async () => {
    const answer = await pdp.post(of([10, 50_000, 20]), EVALUATIONS);
    expect(Object.keys(answer.body)).toEqual(['evaluations']);
    expect(answer.body.evaluations?.map((each) => each.decision)).toEqual([true, false, true]);
    expect(answer.body.evaluations?.[1]?.context).toHaveProperty('access_request');
  });
  it.each([
    ['execute_all', [10, 50_000, 20], [true, false, true]],
    ['deny_on_first_deny', [10, 50_000, 20], [true, false]],
    ['deny_on_first_deny', [10, 20], [true, true]],
    ['permit_on_first_permit', [50_000, 20, 50_000], [false, true]],
    ['permit_on_first_permit', [50_000, 60_000], [false, false]],
  ])('runs with %s over %j [AZ-BX-10, AZ-BX-11, AZ-BX-12, AZ-BX-13, AZ-BX-14]', async (semantic, amounts, expected) => {
    expect(await decisions(of(amounts, { options: { evaluations_semantic: semantic, other: 1 } }))).toEqual(expected);
  });
  it('is decided by one version of the policies', async () => {
    const version = (kind: 'permit' | 'deny'): PolicyVersion => ({
      id: `sha-256:${kind}`,
      answer: () => ({ kind, reason: 'not_permitted', policies: [] }),
      contextOf: () => new Set(),
      requestSchemaPath: () => undefined,
    });
    let inForce = version('permit');
    const engine: PdpHttp['engine'] = {
      use: (work) => {
        const used = inForce;
        inForce = version('deny');
        return work(used);
      },
      findRequestSchema: () => undefined,
      status: () => ({ policy_version: inForce.id }),
    };
    const changing = await startTestPdp({ engine });
    const { body } = await changing.post(of([10, 20, 30]), EVALUATIONS);
    await changing.stop();
    expect(body.evaluations?.map(({ decision }) => decision)).toEqual([true, true, true]);
  });
  it('stops at an invalid entry when it stops at denials [AZ-BX-13]', async () => {
    const body = of([10, 10], { options: { evaluations_semantic: 'deny_on_first_deny' } });
    const evaluations = [...body.evaluations.slice(0, 1), 'x', ...body.evaluations];
    expect(await decisions({ ...body, evaluations })).toEqual([true, false]);
  });
  it('replaces a default as a whole [AZ-BX-04]', async () => {
    const alice = { type: 'user', id: 'alice' };
    const body = {
      subject: { type: 'user', id: 'bob', properties: { role: 'admin' } },
      action: { name: 'write' },
      resource: { type: 'record', id: 'record-2', properties: { status: 'archived' } },
      evaluations: [{}, { resource: { type: 'record', id: 'record-2' } }, { subject: alice }],
    };
    expect(await decisions(body)).toEqual([true, false, false]);
  });
  it('uses the context of the batch for entries without one [AZ-BX-17]', async () => {
    const { subject, action, resource } = aTransfer();
    const body = {
      subject,
      action,
      resource,
      context: { amount: 10 },
      evaluations: [{}, { context: { amount: 50_000 } }],
    };
    expect(await decisions(body)).toEqual([true, false]);
  });
  it('needs no defaults, and ignores an incomplete default that no entry uses [AZ-BX-06]', async () => {
    expect(await decisions({ evaluations: [small()] })).toEqual([true]);
    expect(await decisions({ resource: {}, evaluations: [small()] })).toEqual([true]);
  });
  it('answers an invalid entry with a separate denial [AZ-BX-07, AZ-BX-08]', async () => {
    const { subject, resource } = aTransfer();
    const answer = await pdp.post({ subject, resource, evaluations: [small(), { context: {} }, 7] }, EVALUATIONS);
    expect(answer.status).toBe(200);
    expect(answer.body.evaluations).toEqual([
      { decision: true },
      { decision: false, context: { error: { status: 400, message: 'action is missing' } } },
      { decision: false, context: { error: { status: 400, message: 'the body is not of type object' } } },
    ]);
  });
  it.each<[string, object]>([
    ['no entries', small()],
    ['an empty list', { ...small(), evaluations: [] }],
  ])('with %s is answered like a single request [AZ-BX-02]', async (_name, body) => {
    expect((await pdp.post(body, EVALUATIONS)).body).toEqual({ decision: true });
  });
  it.each<[string, object]>([
    ['entries that are not a list', { ...small(), evaluations: {} }],
    ['an unknown semantic', { ...of([10]), options: { evaluations_semantic: 'first_wins' } }],
    ['options that are not an object', { ...of([10]), options: 'x' }],
    ['more entries than allowed', of(Array.from({ length: 257 }, () => 10))],
  ])('is refused as a whole with %s [AZ-BX-09, AZ-BX-11, AZ-TR-15]', async (_name, body) => {
    expect((await pdp.post(body, EVALUATIONS)).status).toBe(400);
  });
});
