import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { ALICE, aView, requestable, TASK_ID } from '../../support/gateway-world.ts';
import { AUTHORIZATION, AWAITING, SERVER_INFO, metaOf, textOf, send, transfer } from '../../support/gateway-wire.ts';

const gateway = new GatewayUnderTest({ requestByItself: false });
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const call = (params = transfer(), options = {}) => send(gateway, 'tools/call', params, options);

describe('a call that needs an approval', () => {
  beforeEach(() => {
    world.decision = requestable();
  });

  it('becomes a task with exactly the specified members, after the request was submitted [TASK-010, TASK-013, TASK-015, TASK-016, DENIAL-004, DENIAL-022, APPR-210, AT-1, ARAP-GEN-01]', async () => {
    const { status, body } = await call();
    expect(status).toBe(200);
    const { _meta, statusMessage, ...rest } = body.result ?? {};
    expect(rest).toEqual({
      resultType: 'task',
      taskId: TASK_ID,
      status: 'working',
      createdAt: '2026-11-21T09:00:00.000Z',
      lastUpdatedAt: '2026-11-21T09:00:01.000Z',
      ttlMs: 14 * 86_400_000,
      pollIntervalMs: 250,
    });
    expect(statusMessage).toMatch(/has not run/);
    expect(_meta).toEqual({
      [AUTHORIZATION]: AWAITING,
      'io.modelcontextprotocol/model-immediate-response': expect.stringMatching(/has not run/),
      [SERVER_INFO]: expect.anything(),
    });
    expect(world.submitted).toEqual([aView().gatedCallId]);
    expect(world.invocations).toEqual([]);
  });

  it('binds the call and repeats every member of the denial in the submission [ARAP-CB-01, ARAP-DEN-13, ARAP-DLG-01, ARAP-SUB-02, ARAP-SUB-03, ARAP-SUB-07, ARAP-SUB-10, ARAP-SUB-12, ARAP-SUB-14, PRJ-08]', async () => {
    await call();
    const [opening] = world.openings;
    expect(opening?.submission.endpoint).toBe('https://ars.test/requests');
    expect(opening?.binding).toMatchObject({
      tool: 'bank__transfer',
      upstream: 'bank',
      upstreamTool: 'transfer',
      arguments: '{"amount":5,"to":"acct-1"}',
      toolDigest: 'sha-256:1111',
      caller: ALICE,
      evaluation: world.evaluations[0],
    });
    const body = JSON.parse(opening?.submission.body ?? '') as Record<string, unknown>;
    expect(body).toEqual({
      ...world.evaluations[0],
      client: {
        id: 'mcp-gateway',
        name: 'Countersign gateway',
        actor: { id: 'agent-7', issuer: 'https://issuer.test', type: 'ai_agent' },
        source: { generation: 1, requester: { iss: 'https://issuer.test', sub: 'alice' } },
      },
      callback: { endpoint: `${gateway.url}/callbacks/access-requests`, state: expect.any(String) },
      denial: {
        evaluation_id: 'canary-evaluation-id',
        evaluated_at: '2026-11-21T09:00:00Z',
        reason: 'canary-reason',
        template: 'canary-template',
        expires_at: '2126-11-21T09:10:00Z',
        binding_token: 'canary-binding-token',
      },
    });
  });

  it.each([
    ['nothing', {}],
    ['other extensions only', { extensions: { 'io.modelcontextprotocol/tool-approval': {} } }],
    ['the tasks of an earlier revision', { tasks: { requests: {} } }],
  ])('opens no task for a client that declares %s [TASK-104, EXT-006, DENIAL-027]', async (_case, capabilities) => {
    const { body } = await call(transfer(), { capabilities });
    expect(body.result).toMatchObject({ resultType: 'complete', isError: true });
    expect(textOf(body.result)).toMatch(/did not run.*nothing was requested.*io\.modelcontextprotocol\/tasks/s);
    expect(metaOf(body.result)['dev.countersign/next-step']).toMatchObject({
      kind: 'request_access',
      statusTool: 'get_request_status',
      requestSchema: { required: ['tool'], additionalProperties: false },
    });
    expect(metaOf(body.result)[AUTHORIZATION]).toEqual({
      reason: 'insufficient_authorization',
      remediation: 'undisclosed',
    });
    expect([world.openings, world.submitted]).toEqual([[], []]);
  });

  it('is refused without an invitation when too many are open', async () => {
    world.opened = { kind: 'too_many' };
    const { result } = (await call()).body;
    expect(metaOf(result)[AUTHORIZATION]).toEqual({ reason: 'insufficient_authorization', remediation: 'undisclosed' });
    expect(textOf(result)).toMatch(/did not run.*do not repeat/is);
    expect(world.submitted).toEqual([]);
  });

  it('is evaluated again when the identical call ended meanwhile', async () => {
    world.opened = { kind: 'gone' };
    const decisions = [requestable(), { kind: 'deny' } as const];
    world.decision = async () => decisions.shift() ?? requestable();
    expect(metaOf((await call()).body.result)[AUTHORIZATION]).toMatchObject({ remediation: 'unavailable' });
    expect(world.evaluations).toHaveLength(2);
  });

  it('is evaluated again when the denial was too old for a submission [ARAP-ERR-10]', async () => {
    world.submission = new CountersignError('ERR_DENIAL_EXPIRED', 'late');
    const decisions = [requestable(), { kind: 'deny' } as const];
    world.decision = async () => decisions.shift() ?? requestable();
    expect(metaOf((await call()).body.result)[AUTHORIZATION]).toMatchObject({ remediation: 'unavailable' });
    expect(world.evaluations).toHaveLength(2);
  });

  it('fails when identical calls keep ending', async () => {
    world.opened = { kind: 'gone' };
    expect((await call()).body.error).toMatchObject({ code: -32_603 });
    expect(world.evaluations).toHaveLength(2);
  });

  it('is denied when the access request service refuses it, and fails with an error when the service is down', async () => {
    world.submission = new CountersignError('ERR_NOT_REQUESTABLE', 'canary');
    expect(metaOf((await call()).body.result)[AUTHORIZATION]).toMatchObject({ remediation: 'unavailable' });
    world.submission = new CountersignError('ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE', 'canary http://approvals');
    const { body, text } = await call();
    expect(body.error?.code).toBe(-32_603);
    expect(body.error?.message).toMatch(/did not run/);
    expect(text).not.toContain('canary');
  });
});
