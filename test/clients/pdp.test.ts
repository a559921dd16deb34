import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import type { Approval, EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { PolicyDecisionPoint } from '../../workflows/domain/ports.ts';
import { aPdpClient, TOKEN } from '../support/authority-clients.ts';
import { serve } from '../support/serve.ts';

const ACCESS_REQUESTS = 'https://approvals.test/access/v1/requests';
const QUESTION: EvaluationRequest = {
  subject: { type: 'identity', id: 'alice' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 'bank__transfer' },
  context: {},
};
const APPROVAL: Approval = {
  id: 'apr_1',
  approvedUntil: '2026-11-21T13:42:00Z',
  presented: {
    state: { proof: ['x', 1e21, null], é: '\u2028' },
    approved_until: '2026-11-21T13:42:00Z',
    id: 'apr_1',
    of_another_vendor: { a: null },
  },
};
const OFFER = { expires_at: '2126-11-21T09:10:00Z', binding_token: 'eyJ.token', template: 'treasury' };

let server: HttpServer;
let pdp: PolicyDecisionPoint;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let received: { path: string | undefined; headers: IncomingMessage['headers']; body: unknown } | undefined;

const client = (more: { timeoutMs?: number } = {}) =>
  aPdpClient(server.url, { accessRequestsUrl: ACCESS_REQUESTS, metadata: 'ignored', ...more });
beforeAll(async () => {
  server = await serve((request, response) => {
    void text(request).then((body) => {
      received = { path: request.url, headers: request.headers, body: JSON.parse(body || 'null') };
      answer(request, response);
    });
  });
  pdp = client();
});
afterAll(() => server.close());
beforeEach(() => {
  received = undefined;
});

const says = (body: unknown, status = 200) => {
  answer = (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
};
const unavailable = { name: 'CountersignError', code: 'ERR_PDP_UNAVAILABLE' };

describe('the question to the PDP', () => {
  it('goes to the evaluation endpoint unchanged, always with a context [AZ-TR-02, AZ-TR-12, PRJ-30]', async () => {
    says({ decision: true });
    await pdp.evaluate(QUESTION);
    expect(received?.path).toBe('/access/v1/evaluation');
    expect(received?.headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' });
    expect(received?.headers['x-request-id']).toBeDefined();
    expect(received?.body).toEqual(QUESTION);
  });

  it('gets the whole approval added unchanged, and no other change [ARAP-EID-07, ARAP-REV-02, PRJ-12]', async () => {
    says({ decision: true });
    await pdp.evaluate({ ...QUESTION, context: { agent: 'a' } }, APPROVAL);
    expect(received?.body).toEqual({
      ...QUESTION,
      context: {
        agent: 'a',
        approval: APPROVAL.presented,
      },
    });
  });
});

describe('an allow from the PDP', () => {
  it('is a literal true', async () => {
    says({ decision: true, context: { evaluation_id: 'e', approval: { approved_until: '2026-11-21T12:00:00Z' } } });
    expect(await pdp.evaluate(QUESTION)).toEqual({
      kind: 'allow',
      evaluationId: 'e',
      approvedUntil: '2026-11-21T12:00:00Z',
    });
  });

  it.each([
    [{ decision: 'true' }],
    [{ decision: 1 }],
    [{ decision: null }],
    [{}],
    [{ Decision: true }],
    [[{ decision: true }]],
    ['true'],
    [''],
    ['<html>'],
    ['{"decision":true'],
    [{ decision: true, context: { approval: { approved_until: 'soon' } } }],
  ])('is not %j: no decision [COAZ-FW-22]', async (body) => {
    says(body);
    await expect(pdp.evaluate(QUESTION)).rejects.toMatchObject(unavailable);
  });

  it('with an obligation is a denial where no obligations are carried out [OBL-07, OBL-29]', async () => {
    says({ decision: true, context: { obligations: [{ id: 'o', type: 'step-up', properties: {} }] } });
    expect(await pdp.evaluate(QUESTION)).toMatchObject({ kind: 'deny' });
  });
});

describe('a missing answer of the PDP', () => {
  it.each([201, 204, 301, 400, 401, 403, 404, 429, 500, 503])(
    'is an answer with status %i [AZ-SE-05, COAZ-FW-22]',
    async (status) => {
      answer = (_request, response) => {
        response.writeHead(status, { 'content-type': 'application/json', location: '/elsewhere' });
        response.end(status === 204 ? undefined : '{"decision":true}');
      };
      await expect(pdp.evaluate(QUESTION)).rejects.toMatchObject(unavailable);
    },
  );

  it('is one that comes too late, is cut off, or is endless', async () => {
    answer = () => undefined;
    const impatient = client({ timeoutMs: 100 });
    await expect(impatient.evaluate(QUESTION)).rejects.toMatchObject(unavailable);
    answer = (request) => request.socket.destroy();
    await expect(pdp.evaluate(QUESTION)).rejects.toMatchObject(unavailable);
    says(JSON.stringify({ decision: true, padding: 'x'.repeat(2_000_000) }));
    await expect(pdp.evaluate(QUESTION)).rejects.toMatchObject(unavailable);
  });

  it('is one from a place without a server', async () => {
    const unreachable = aPdpClient('http://127.0.0.1:9', { accessRequestsUrl: ACCESS_REQUESTS });
    await expect(unreachable.evaluate(QUESTION)).rejects.toMatchObject(unavailable);
  });
});

describe('a denial of the PDP', () => {
  const context = { evaluation_id: 'eval_1', evaluated_at: '2026-11-21T09:00:00Z', reason: 'approval_required' };

  it('is requestable with an offer, whose texts are kept unchanged', async () => {
    says({
      decision: false,
      context: { ...context, access_request: { ...OFFER, endpoint: ACCESS_REQUESTS, more: 1 } },
    });
    expect(await pdp.evaluate(QUESTION)).toEqual({
      kind: 'requestable',
      evaluationId: 'eval_1',
      evaluatedAt: '2026-11-21T09:00:00Z',
      reason: 'approval_required',
      offer: {
        endpoint: ACCESS_REQUESTS,
        template: 'treasury',
        expiresAt: '2126-11-21T09:10:00Z',
        bindingToken: 'eyJ.token',
      },
    });
  });

  it.each([
    ['it has no offer', {}],
    ['its offer is not an object', { access_request: 'yes' }],
    ['its offer has no expiry', { access_request: { binding_token: 'x' } }],
    ["its offer's expiry is unreadable", { access_request: { ...OFFER, expires_at: 'soon' } }],
    [
      'its offer names another host',
      { access_request: { ...OFFER, endpoint: 'https://evil.test/access/v1/requests' } },
    ],
    ['its schema is on another host', { access_request: { ...OFFER, request_schema_url: 'https://evil.test/x' } }],
    ['its schema has no address', { access_request: { ...OFFER, request_schema_url: 'x.json' } }],
    ['it has catalogs and no schema', { access_request: { ...OFFER, request_catalogs_url: ACCESS_REQUESTS } }],
    [
      'its address only begins like the trusted one',
      { access_request: { ...OFFER, endpoint: 'https://approvals.test.evil.test/' } },
    ],
    [
      'its address is the trusted one without TLS',
      { access_request: { ...OFFER, endpoint: 'http://approvals.test/access/v1/requests' } },
    ],
  ])('is plain when %s [ARAP-DEN-03, ARAP-SEC-02]', async (_case, members) => {
    says({ decision: false, context: { ...context, ...members } });
    expect(await pdp.evaluate(QUESTION)).toEqual({
      kind: 'deny',
      evaluationId: 'eval_1',
      reason: 'approval_required',
    });
  });

  it('names its form schema, on the host of the service or of the decision point', async () => {
    for (const url of ['https://approvals.test/schemas/a.json', `${server.url}/schemas/a.json`]) {
      says({ decision: false, context: { ...context, access_request: { ...OFFER, request_schema_url: url } } });
      expect(await pdp.evaluate(QUESTION)).toMatchObject({ kind: 'requestable', offer: { requestSchemaUrl: url } });
    }
  });

  it('is plain without a token or an evaluation id', async () => {
    says({ decision: false, context: { access_request: { expires_at: OFFER.expires_at } } });
    expect(await pdp.evaluate(QUESTION)).toEqual({ kind: 'deny' });
  });

  it.each([[undefined], ['text'], [5], [[]], [null]])('is plain when its context is %j', async (odd) => {
    says({ decision: false, context: odd });
    expect(await pdp.evaluate(QUESTION)).toEqual({ kind: 'deny' });
  });

  it('that could not be recorded is no answer, and with an approval it is a retry', async () => {
    says({ decision: false, context: { reason: 'access_request_unavailable' } });
    await expect(pdp.evaluate(QUESTION)).rejects.toMatchObject(unavailable);
    expect(await pdp.evaluate(QUESTION, APPROVAL)).toMatchObject({ kind: 'retry' });
  });

  it('without an approval is never a retry', async () => {
    says({ decision: false, context: { next_action: 'retry', reason: 'grant_pending' } });
    expect(await pdp.evaluate(QUESTION)).toEqual({ kind: 'deny', reason: 'grant_pending' });
  });
});

describe('a denial despite an approval', () => {
  it.each([
    ['the action is retry', { next_action: 'retry', retry_after: 20 }, { kind: 'retry', retryAfterMs: 20_000 }],
    ['the action is retry without a time', { next_action: 'retry' }, { kind: 'retry' }],
    ['the action is retry with an odd time', { next_action: 'retry', retry_after: 'x' }, { kind: 'retry' }],
    ['the action is none against the reason', { next_action: 'none', reason: 'grant_pending' }, { kind: 'deny' }],
    ['the action is request with an offer', { next_action: 'request', access_request: OFFER }, { kind: 'requestable' }],
    ['the action is request without an offer', { next_action: 'request' }, { kind: 'deny' }],
    ['the action is none with an offer', { next_action: 'none', access_request: OFFER }, { kind: 'deny' }],
    ['the reason is grant_pending', { reason: 'grant_pending' }, { kind: 'retry' }],
    ['an unknown action yields to the reason', { next_action: 'escalate', reason: 'grant_pending' }, { kind: 'retry' }],
    ['the reason is out_of_scope', { reason: 'out_of_scope', access_request: OFFER }, { kind: 'requestable' }],
    ['the reason is approval_expired without an offer', { reason: 'approval_expired' }, { kind: 'deny' }],
    ['the reason is policy_denied', { reason: 'policy_denied', access_request: OFFER }, { kind: 'deny' }],
    [
      'the reason is approval_unverifiable',
      { reason: 'approval_unverifiable', access_request: OFFER },
      { kind: 'deny' },
    ],
    ['the reason is unknown', { reason: 'constructor', access_request: OFFER }, { kind: 'requestable' }],
    ['both are missing', {}, { kind: 'deny' }],
  ])(
    'follows the next action, else the reason: when %s [ARAP-NXT-03, ARAP-NXT-04, ARAP-NXT-05, ARAP-NXT-06, ARAP-NXT-11, ARAP-NXT-13, ARAP-NXT-14, ARAP-NXT-15, ARAP-NXT-16, ARAP-NXT-17]',
    async (_case, context, expected) => {
      says({ decision: false, context });
      expect(await pdp.evaluate(QUESTION, APPROVAL)).toMatchObject(expected);
    },
  );
});
