import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { EMPTY_DIRECTORY } from '../../../apps/shared/directory/directory.ts';
import { configuredApprovers } from '../../../apps/approvals/webhooks/decision-webhook.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { signedHeaders } from '../../../apps/shared/http/webhook-signature.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';

describe('signed messages', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() => service.start({ approvals: { webhookApprovers: ['carol'] } }));
  afterAll(() => service.stop());

  const statusOf = async (id: string) => (await service.status(id)).body.task.status as string;

  describe('the decision webhook', () => {
    let request: { id: string; callDigest: string };
    beforeEach(async () => {
      request = await service.open();
    });

    const decision = (changes: object = {}) =>
      JSON.stringify({
        requestId: request.id,
        generation: 1,
        callDigest: request.callDigest,
        approver: { subject: 'alice' },
        verdict: 'approve',
        reason: 'as discussed',
        ...changes,
      });
    const headersFor = (body: string, { id = `msg_${crypto.randomUUID()}`, at = new Date(), secret = '' } = {}) =>
      signedHeaders(new Webhook(secret || service.secrets.decisionWebhookSecret), { id, at, body });
    const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
      service.fetch('/webhooks/decisions', { method: 'POST', headers, body });

    it('counts a signed decision', async () => {
      const body = decision();
      const answer = await post(body, headersFor(body));
      expect([answer.status, answer.body]).toEqual([
        200,
        { outcome: 'counted', request: { id: request.id, status: 'approved' } },
      ]);
      const { rows } = await service.database.pool.query(
        'SELECT approver_subject, verdict, reason, via FROM approvals.vote WHERE access_request_id = $1',
        [request.id],
      );
      expect(rows).toEqual([{ approver_subject: 'alice', verdict: 'approve', reason: 'as discussed', via: 'webhook' }]);
    });

    it('answers a repeated message alike without a second effect, ten at once and later', async () => {
      const body = decision();
      const headers = headersFor(body);
      const answers = await Promise.all(Array.from({ length: 10 }, () => post(body, headers)));
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
      expect(answers.filter((answer) => answer.body.outcome === 'counted')).toHaveLength(1);
      expect((await post(body, headers)).body.outcome).toBe('repeated');
    });

    it('refuses another body under the same id', async () => {
      const body = decision({ verdict: 'deny' });
      const headers = headersFor(body);
      await post(body, headers);
      const other = decision();
      const answer = await post(other, headersFor(other, { id: headers['webhook-id'] }));
      expect(answer.status).toBe(409);
      expect(await statusOf(request.id)).toBe('denied');
      expect(service.log).toContain('two messages with different bodies have the same id');
    });

    it('refuses a message with any changed byte', async () => {
      const body = decision();
      const headers = headersFor(body);
      const bytes = Buffer.from(body);
      for (let i = 0; i < bytes.length; i += 1) {
        const changed = new Uint8Array(bytes);
        changed[i] = (changed[i] ?? 0) ^ 1;
        expect((await post(changed, headers)).status).toBe(401);
      }
      expect(await statusOf(request.id)).toBe('pending');
    });

    it.each<[string, (headers: Record<string, string>, body: string) => Record<string, string>]>([
      ['no signature', ({ 'webhook-signature': _signature, ...rest }) => rest],
      ['no id', ({ 'webhook-id': _id, ...rest }) => rest],
      ['the secret of the callbacks', (_headers, body) => headersFor(body, { secret: service.secrets.callbackSecret })],
      ['a past time', (_headers, body) => headersFor(body, { at: new Date(Date.now() - 301_000) })],
      ['a future time', (_headers, body) => headersFor(body, { at: new Date(Date.now() + 360_000) })],
      ['a time with extra characters', (h) => ({ ...h, 'webhook-timestamp': `${h['webhook-timestamp']}junk` })],
      ['a fraction of a second', (h) => ({ ...h, 'webhook-timestamp': `${h['webhook-timestamp']}.0` })],
      ['another version', (h) => ({ ...h, 'webhook-signature': (h['webhook-signature'] ?? '').replace('v1', 'v0') })],
      [
        'a long list of signatures',
        (h) => ({ ...h, 'webhook-signature': `${'v1,AAAA '.repeat(5)}${h['webhook-signature']}` }),
      ],
      ['an id with a dot', (_headers, body) => headersFor(body, { id: 'msg_a.b' })],
    ])('refuses %s', async (_name, change) => {
      const body = decision();
      expect((await post(body, change(headersFor(body), body))).status).toBe(401);
      expect(await statusOf(request.id)).toBe('pending');
    });

    it('refuses bytes that match the signed text only after decoding', async () => {
      const body = decision({ reason: '\ufffd' });
      const bytes = Buffer.from(body);
      const at = bytes.indexOf(Buffer.from('\ufffd'));
      const invalid = Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at + 3)]);
      expect(invalid.toString('utf8')).toBe(body);
      expect((await post(new Uint8Array(invalid), headersFor(body))).status).toBe(401);
    });

    it.each([
      ['no generation', { generation: undefined }, 400],
      ['no digest', { callDigest: undefined }, 400],
      ['another digest', { callDigest: `sha-256:${'0'.repeat(64)}` }, 409],
      ['another generation', { generation: 2 }, 409],
      ['an unknown verdict', { verdict: 'maybe' }, 400],
      ['an unknown request', { requestId: 'arq_AAAAAAAAAAAAAAAAAAAAAA' }, 404],
      ['a person who is not an approver', { approver: { subject: 'olivia' } }, 403],
      ['an unknown person', { approver: { subject: 'mallory' } }, 403],
      ['an approver of another issuer', { approver: { subject: 'alice', issuer: 'https://evil.test' } }, 403],
    ])('refuses a decision with %s', async (_name, changes, status) => {
      const body = decision(changes);
      expect((await post(body, headersFor(body))).status).toBe(status);
      expect(await statusOf(request.id)).toBe('pending');
    });

    it('repeats its refusal of a message after the request has moved on', async () => {
      const body = decision({ generation: 2 });
      const headers = headersFor(body);
      expect((await post(body, headers)).status).toBe(409);
      expect((await post(body, headers)).status).toBe(409);
    });

    it('accepts approvers that the configuration names', async () => {
      const body = decision({ approver: { subject: 'carol', issuer: service.config.urls.issuer } });
      expect((await post(body, headersFor(body))).status).toBe(200);
    });

    it('does not know the example people in production', () => {
      const at = { baseDir: '/', stateDir: '/' };
      const production = configuredApprovers(parseConfig({ mode: 'production' }, at), () => EMPTY_DIRECTORY);
      expect(production({ issuer: undefined, subject: 'alice' })).toBeUndefined();
      const named = configuredApprovers(
        parseConfig({ mode: 'production', approvals: { webhookApprovers: ['dora'] } }, at),
        () => EMPTY_DIRECTORY,
      );
      expect(named({ issuer: undefined, subject: 'dora' })?.subject).toBe('dora');
    });
  });
});
