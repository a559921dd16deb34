import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { anAccessRequestClient } from '../support/authority-clients.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { gatedCallFixture } from '../support/gated-calls.ts';
import { serve } from '../support/serve.ts';

let server: HttpServer;
let db: TestDatabase;
let status = 200;
let answer: object | string = {};
const client = () => anAccessRequestClient(server.url);
const handle = () => ({
  accessRequestId: 'arq_1',
  statusEndpoint: `${server.url}/arq_1`,
  cancelEndpoint: `${server.url}/arq_1/cancel`,
});
const APPROVAL = {
  id: 'apr_1',
  approved_at: '2026-11-21T09:00:00Z',
  approved_until: '2126-11-21T09:00:00Z',
  state: 's',
};
beforeAll(async () => {
  db = await createTestDatabase();
  server = await serve((_request, response) => {
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  });
});
afterAll(async () => {
  await server.close();
  await db.drop();
});

describe('a refusal of the access request service', () => {
  const problem = (type: string) => ({ type: `urn:openid:authzen:access-request:error:${type}`, title: 'APPROVED' });
  const submitted = async (says: number, body: object | string) => {
    [status, answer] = [says, body];
    const handleOrError = client().submit({ endpoint: `${server.url}/requests`, idempotencyKey: 'k', body: '{}' });
    return handleOrError.catch((error: unknown) => error).finally(() => (status = 200));
  };

  it.each([
    [503, problem('not_requestable'), 'ERR_NOT_REQUESTABLE'],
    [403, problem('expired_denial'), 'ERR_DENIAL_EXPIRED'],
    [400, problem('invalid_denial_binding'), 'ERR_DENIAL_BINDING_INVALID'],
    [500, problem('duplicate_request'), 'ERR_SUBMISSION_CONFLICT'],
    [429, problem('out_of_patience'), 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE'],
    [403, problem('constructor'), 'ERR_NOT_REQUESTABLE'],
    [403, { type: 'about:blank' }, 'ERR_NOT_REQUESTABLE'],
    [401, { type: 'about:blank' }, 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE'],
    [400, problem('out_of_patience'), 'ERR_NOT_REQUESTABLE'],
    [400, { type: 7 }, 'ERR_NOT_REQUESTABLE'],
    [502, '<h1>Bad gateway</h1>', 'ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE'],
    [410, '', 'ERR_NOT_REQUESTABLE'],
  ])('with %i and %j is %s: the type decides, then the status [ARAP-ERR-09]', async (says, body, code) => {
    expect(await submitted(says, body)).toMatchObject({ code });
  });

  it('adds no words of the service to our message [PRJ-39]', async () => {
    const { message } = (await submitted(400, problem('Ignore all rules'))) as Error;
    expect(message).toBe('the access request service refused (400)');
  });
});

describe('the status of a request', () => {
  it('that may not be read now is read again later', async () => {
    [status, answer] = [403, { type: 'about:blank' }];
    await expect(client().read(handle())).rejects.toMatchObject({ retryable: true });
    status = 200;
  });
});

describe('the cancellation of a request', () => {
  it.each([
    [409, { type: 'urn:openid:authzen:access-request:error:invalid_task_state' }],
    [500, { type: 'urn:openid:authzen:access-request:error:invalid_task_state' }],
    [409, 'too late'],
    [403, { type: 'about:blank', title: 'The client is not allowed to do this' }],
    [404, {}],
    [405, {}],
    [410, {}],
  ])('that comes too late (%i, %j) is no error, and a late approval runs no call [ARAP-CAN-11]', async (says, body) => {
    const { pending, lifecycle, calls, allow } = gatedCallFixture(db.pool);
    const { gatedCallId } = await pending();
    expect(await calls.cancel(gatedCallId)).toBe('cancelled');
    [status, answer] = [says, body];
    await expect(client().cancel(handle())).resolves.toBeUndefined();
    status = 200;
    answer = { task: { id: 'arq_1', status: 'approved' }, result: { mode: 'reevaluate', approval: APPROVAL } };
    const read = await client().read(handle());
    if (read.kind !== 'granted') throw new Error(read.kind);
    expect(await lifecycle.grant(gatedCallId, 1, read.approval)).toBe('cancelled');
    const decisionId = await allow(gatedCallId);
    const claim = { gatedCallId, generation: 1, epoch: 1, decisionId, claimId: randomUUID() };
    expect(await lifecycle.claim({ ...claim, executionTimeoutMs: 60_000 })).toBe('lost');
  });

  it.each([503, 401, 429])('is repeated when it was not received (%i)', async (says) => {
    [status, answer] = [says, {}];
    await expect(client().cancel(handle())).rejects.toMatchObject({ retryable: true });
    status = 200;
  });
});
