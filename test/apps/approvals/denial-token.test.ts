import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { publicKey } from '../../../apps/shared/auth/signing-key.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { anEs256Key } from '../../support/pdp.ts';
import type { SubmissionChanges } from '../../support/submissions.ts';

const URN = 'urn:openid:authzen:access-request:error:';
const INVALID = [400, `${URN}invalid_denial_binding`];
const TAKEN = [202, undefined];

/** A request that is not a tool call: other members say what it is about. */
const plain = (
  context: object,
  members: readonly string[] = ['agent', ...Object.keys(context)],
): SubmissionChanges => ({
  members,
  context: { arguments: undefined, call_digest: undefined, ...context } as unknown as JsonObject,
});

describe('the binding token of a submission', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start());
  afterAll(() => service.stop());
  afterEach(() => void jest.useRealTimers());

  const answer = async (changes: SubmissionChanges) => {
    const { status, body } = await service.submit(await service.submission(changes));
    return [status, body.type];
  };
  const seconds = (fromNow: number) => new Date((Math.floor(Date.now() / 1_000) + fromNow) * 1_000);
  /** Only the time of day is faked. */
  const at = (now: number) =>
    jest.useFakeTimers({
      now,
      doNotFake: [
        ...(['nextTick', 'setTimeout', 'setImmediate', 'setInterval', 'clearTimeout', 'clearImmediate'] as const),
        ...(['clearInterval', 'performance', 'queueMicrotask', 'hrtime'] as const),
      ],
    });

  describe('has a signature', () => {
    it('by an Ed25519 key as well, with each key used only for its own algorithm [PRJ-03] [ARAP-BND-01]', async () => {
      const pair = await generateKeyPair('EdDSA', { extractable: true });
      const key = { ...(await exportJWK(pair.privateKey)), kid: 'ed-1' };
      service.pdpKeys.push(publicKey(key));
      await service.restart();
      expect(await answer({ key, header: { alg: 'EdDSA' } })).toEqual(TAKEN);
      expect(await answer({ key: { ...(await anEs256Key('ed-1')) } })).toEqual(INVALID);
    });

    it('that names its key, even when there is only one key [ARAP-BND-01] [PRJ-06]', async () => {
      expect(await answer({ header: { kid: undefined } })).toEqual(INVALID);
    });

    it('by a key that was published later, without a new read for each unknown key [ARAP-DIS-09]', async () => {
      await service.restart();
      const next = await anEs256Key('next');
      at(Date.now());
      expect(await answer({})).toEqual(TAKEN);
      const asked = () => service.pdpAsked.filter(({ path }) => path === '/access/v1/jwks').length;
      const before = asked();
      const answers = await Promise.all(Array.from({ length: 20 }, () => answer({ key: next })));
      expect(answers).toEqual(Array(20).fill(INVALID));
      expect(asked()).toBe(before);
      service.pdpKeys.push(publicKey(next));
      at(Date.now() + 31_000);
      expect(await answer({ key: next })).toEqual(TAKEN);
      expect(asked()).toBe(before + 1);
    });
  });

  describe('has an audience', () => {
    it('that contains this service, alone or with others [ARAP-BND-04]', async () => {
      const here = service.config.urls.accessRequests;
      expect(await answer({ claims: { aud: ['https://elsewhere.test', here] } })).toEqual(TAKEN);
      expect(await answer({ claims: { aud: ['https://elsewhere.test'] } })).toEqual(INVALID);
      expect(await answer({ claims: { aud: [] } })).toEqual(INVALID);
      expect(await answer({ claims: { aud: `${here}/` } })).toEqual(INVALID);
    });

    it('and may have other members [ARAP-BND-22] [ARAP-EXT-03]', async () => {
      expect(await answer({ claims: { policy_version: 7, 'com.example.risk': { level: 'low' } } })).toEqual(TAKEN);
    });
  });

  describe('binds the request', () => {
    it('by the members that it lists, and no others [ARAP-GEN-08] [ARAP-SUB-05]', async () => {
      const body = await service.submission(plain({ amount: 5, note: 'x' }, ['agent', 'amount']));
      const submit = async (context: object) => {
        const { status, body: told } = await service.submit({ ...body, context: { ...body.context, ...context } });
        return [status, told.type];
      };
      expect(await submit({ amount: 6 })).toEqual(INVALID);
      expect(await submit({ amount: undefined })).toEqual(INVALID);
      expect(await submit({ note: 'y', business_justification: 'Invoice 4711' })).toEqual(TAKEN);
    });

    it('by subject, action and resource alone when it lists no members [ARAP-GEN-09] [ARAP-BND-08]', async () => {
      const changes = { ...plain({ amount: 5 }, []), claims: { binding_context_members: undefined } };
      expect(await answer(changes)).toEqual(TAKEN);
      expect(await answer({ ...changes, body: { action: { name: 'tools/list' } } })).toEqual(INVALID);
    });

    it('without members that a PDP returns in its answer [ARAP-GEN-10]', async () => {
      const asked = plain({ reason: 'a', approval: { id: 'x' }, evaluation_id: 'e' });
      const body = await service.submission(asked);
      const context = { ...body.context, reason: 'b', approval: undefined, evaluation_id: 'f' };
      expect((await service.submit({ ...body, context })).status).toBe(202);
    });

    it.each<[string, unknown, unknown, boolean]>([
      ['a number and how it is written', 1, 1.0, true],
      ['members in another order', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
      ['a number and its text', 1, '1', false],
      ['items in another order', [1, 2], [2, 1], false],
      ['one letter in two ways', '\u00e9', 'e\u0301', false],
      ['null and an empty text', null, '', false],
      ['false and null', false, null, false],
      ['one more member', { a: 1 }, { a: 1, b: null }, false],
      ['zero and minus zero', 0, -0, true],
    ])('by structure: %s [ARAP-BND-12] [ARAP-BND-09]', async (_name, denied, submitted, same) => {
      for (const claims of [{ context: { agent: 'agent', x: denied }, binding_hash: undefined }, undefined]) {
        const body = await service.submission({ ...plain({ x: denied }), ...(claims && { claims }) });
        const { status } = await service.submit({ ...body, context: { agent: 'agent', x: submitted } });
        expect(status).toBe(same ? 202 : 400);
      }
    });

    it('so that a null member and a missing member differ [ARAP-BND-12]', async () => {
      const body = await service.submission(plain({ x: null }));
      expect((await service.submit({ ...body, context: { agent: 'agent' } })).status).toBe(400);
    });

    it('by hash and by parts where both are present, and by either one alone [PRJ-04] [ARAP-BND-09] [ARAP-BND-10]', async () => {
      const [good] = [plain({ amount: 5 })];
      const inline = { subject: undefined, resource: undefined, action: undefined, context: undefined };
      expect(await answer({ ...good, claims: { binding_hash: undefined } })).toEqual(TAKEN);
      expect(await answer({ ...good, claims: inline })).toEqual(TAKEN);
      expect(await answer({ ...good, claims: { binding_hash: 'A'.repeat(43) } })).toEqual(INVALID);
      expect(await answer({ ...good, claims: { context: { agent: 'agent', amount: 6 } } })).toEqual(INVALID);
      expect(await answer({ ...good, claims: { ...inline, binding_hash: undefined } })).toEqual(INVALID);
    });

    it('so that approvers see only bound arguments [PRJ-17]', async () => {
      expect(await answer({ members: ['agent'] })).toEqual(INVALID);
      const undigested = { context: { call_digest: undefined } as unknown as JsonObject };
      expect(await answer({ ...undigested, members: ['agent', 'arguments'] })).toEqual(TAKEN);
      expect(await answer({ ...undigested, members: ['agent'] })).toEqual(INVALID);
    });

    it('to its template, which an echo in the denial cannot choose [ARAP-SUB-26]', async () => {
      const body = await service.submission({ claims: { template: undefined } });
      const { body: told } = await service.submit(body);
      const { rows } = await service.database.pool.query(
        'SELECT template FROM approvals.access_request WHERE id = $1',
        [told.task.id],
      );
      expect(rows[0].template).toBeNull();
    });
  });

  describe('expires', () => {
    it.each([
      [29, 202],
      [31, 410],
    ])(
      'thirty seconds after its expiry: %i s → %i [ARAP-CLK-01] [ARAP-CLK-02] [ARAP-BND-18] [PRJ-13]',
      async (late, status) => {
        const expiresAt = seconds(60);
        const body = await service.submission({ expiresAt });
        at(expiresAt.getTime() + late * 1_000);
        expect((await service.submit(body)).status).toBe(status);
      },
    );

    it.each([
      [29, 202],
      [31, 400],
    ])('with a tolerance for a PDP whose clock is ahead: %i s → %i [ARAP-CLK-01]', async (ahead, status) => {
      const now = Date.now();
      const body = await service.submission({ claims: { iat: Math.floor(now / 1_000) + ahead } });
      at(Math.floor(now / 1_000) * 1_000);
      expect((await service.submit(body)).status).toBe(status);
    });

    it.each<[string, () => SubmissionChanges, number, string]>([
      [
        'the token ends before the denial',
        () => ({ claims: { exp: Math.floor(Date.now() / 1_000) - 60 } }),
        410,
        'expired_denial',
      ],
      [
        'the denial ends before the token',
        () => ({ expiresAt: seconds(-60), claims: { exp: Math.floor(Date.now() / 1_000) + 600 } }),
        410,
        'expired_denial',
      ],
      [
        'the token expires later than the echo, without a signed expiry of the denial',
        () => unprotected(60),
        400,
        'invalid_denial_binding',
      ],
      [
        'the echo is later than the signed expiry',
        () => ({ claims: { denial_expires_at: seconds(300).toISOString() } }),
        400,
        'invalid_denial_binding',
      ],
    ])(
      'at the earliest of its expiries: %s [ARAP-BND-15] [ARAP-BND-16] [ARAP-BND-17] [PRJ-13]',
      async (_name, changes, status, type) => {
        expect(await answer(changes())).toEqual([status, `${URN}${type}`]);
      },
    );

    it('by its own expiry alone, when that is not later than the echo [ARAP-BND-17]', async () => {
      expect(await answer(unprotected(-60))).toEqual(TAKEN);
    });

    /** No `denial_expires_at`, and an `exp` this much later than the echo. */
    const unprotected = (later: number): SubmissionChanges => ({
      claims: { denial_expires_at: undefined, exp: Math.floor(Date.now() / 1_000) + 600 + later },
    });
  });
});
