import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { copyTemplate } from '../support/database.ts';
import { connectEarlier } from '../support/foreign-clients.ts';
import { heldCalls } from '../support/held-calls.ts';
import { killAmidCalls } from '../support/kills.ts';
import { DEPLOYABLES, startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

// Five processes take longer to start than all these tests, so one start serves all.
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
/** Occurs only in the arguments. */
const SECRET_CONTENT = 'the combination is 4711';

type Line = Record<string, unknown> & { readonly name: string; readonly pid: number };

let stack!: Stack;
let pdpDatabase!: Pool;
let pdpCopy: Awaited<ReturnType<typeof copyTemplate>>;
const { end } = heldCalls(() => stack);
beforeAll(async () => {
  pdpCopy = await copyTemplate();
  const { url } = pdpCopy;
  pdpDatabase = new Pool({ connectionString: url, max: 1 }).on('error', () => undefined);
  stack = await startStack({ parts: 'apart', servers: 'shared', environments: { pdp: { DATABASE_URL: url } } });
});
afterAll(async () => {
  await stack?.stop();
  await pdpDatabase?.end();
  await pdpCopy?.drop();
});

describe('the log of five processes', () => {
  const logText = () => readFileSync(join(stack.stateDir, 'logs', 'countersign.log'), 'utf8');
  const lines = () =>
    logText()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  const linesOfTrace = (trace: string) => lines().filter((line) => line['trace'] === trace);
  const transitions = (found: readonly Line[], of: string) =>
    found.filter((line) => line['event'] === 'transition' && line['of'] === of);

  /** Calls the tool that needs an approval, within this trace. */
  async function open(trace: string, path: string): Promise<string> {
    const { body } = await stack.rpc(await stack.token('agent'), 'tools/call', {
      name: 'files__write_file',
      arguments: { path: join(stack.files, path), content: SECRET_CONTENT },
      _meta: { traceparent: `00-${trace}-00f067aa0ba902b7-01` },
    });
    const { taskId } = (body as { result: { taskId?: string } }).result;
    if (taskId === undefined) throw new Error(`the call is not held: ${JSON.stringify(body)}`);
    return taskId;
  }

  describe('a call that is held, approved, executed and audited', () => {
    let taskId: string;
    let found: Line[];
    beforeAll(async () => {
      taskId = await open(TRACE, 'traced.txt');
      const [request] = await stack.openRequests(1);
      await stack.decide(request, { verdict: 'approve' });
      expect(await end(taskId)).toMatchObject({ disposition: 'approved-executed' });
      await stack.record(taskId);
      found = await waitFor(() => {
        const now = linesOfTrace(TRACE);
        return new Set(now.map(({ pid }) => pid)).size === DEPLOYABLES.length ? now : undefined;
      });
    });

    it('writes lines in all five processes under one trace id', () => {
      expect(new Set(found.map(({ name }) => name))).toEqual(new Set(DEPLOYABLES));
    });

    it('writes one line for each transition, with every id', async () => {
      const ofCall = transitions(found, 'gated_call');
      expect(ofCall.map(({ name, from, to }) => [name, from, to])).toEqual([
        ['gateway', undefined, 'preparing'],
        ['gateway', 'preparing', 'pending'],
        ['worker', 'pending', 'granted'],
        ['worker', 'granted', 'claimed'],
        ['worker', 'claimed', 'executed'],
      ]);
      const [{ gatedCall, accessRequest }] = ofCall.slice(-1) as [Line];
      for (const line of [...ofCall, ...transitions(found, 'invocation')]) {
        expect(line).toMatchObject({
          gatedCall,
          task: taskId,
          workflow: `gated-call/${String(gatedCall)}`,
          tool: 'files__write_file',
          subject: 'agent',
          client: 'agent',
        });
        // It is unknown before the access request service has answered.
        if (line['to'] !== 'preparing') expect(line['accessRequest']).toBe(accessRequest);
      }
      const database = await stack.database();
      const { rows } = await database.query('SELECT count(*)::int FROM gateway.call_event WHERE gated_call_id = $1', [
        gatedCall,
      ]);
      expect(rows).toEqual([{ count: ofCall.length }]);
      expect(transitions(found, 'invocation')).toMatchObject([{ name: 'worker', to: 'permitted' }]);
      const ofRequest = transitions(found, 'access_request');
      expect(ofRequest).toMatchObject([
        { name: 'approvals', accessRequest, to: 'pending' },
        { name: 'approvals', accessRequest, from: 'pending', to: 'approved' },
      ]);
      expect(transitions(found, 'vote')).toMatchObject([
        { accessRequest, to: 'approve', via: 'webhook', subject: 'alice' },
      ]);
    });

    it('writes both decisions, with the policies that determined them', () => {
      const decisions = found.filter(({ name, event }) => name === 'pdp' && event === 'decision');
      const one = { tool: 'files__write_file', subject: 'agent', policies: [expect.any(String)] };
      expect(decisions).toMatchObject(decisions.map(() => one));
      // A permit that gets older than five seconds before the claim is asked for anew.
      const [first, ...later] = decisions.map(({ outcome }) => outcome);
      expect([first, new Set(later)]).toEqual(['requestable', new Set(['permit'])]);
    });

    it('writes who read its record', () => {
      expect(found.filter(({ name }) => name === 'audit')).toMatchObject([
        { event: 'record_read', task: taskId, subject: 'olivia', tool: 'files__write_file' },
      ]);
    });
  });

  it('a call that its owner cancels has a log line for its end', async () => {
    const trace = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
    const taskId = await open(trace, 'cancelled.txt');
    await stack.rpc(await stack.token('agent'), 'tasks/cancel', { taskId });
    const ofRequest = () => transitions(linesOfTrace(trace), 'access_request');
    await waitFor(() => ofRequest().some(({ to }) => to === 'cancelled'));
    expect(transitions(linesOfTrace(trace), 'gated_call').at(-1)).toMatchObject({
      ...{
        name: 'gateway',
        from: 'pending',
        to: 'cancelled',
        cause: 'client',
        reason: 'client_cancelled',
        task: taskId,
      },
    });
  });

  it('the log says why a token is refused, and never contains the token', async () => {
    const ofAnotherService = await stack.token('alice', 'approvals');
    const { status } = await stack.rpcOnce(ofAnotherService, 'tools/list', {});
    expect(status).toBe(401);
    await stack.rpcOnce('no-token-at-all', 'tools/list', {});
    const refused = await waitFor(() => {
      const now = lines().filter(({ event }) => event === 'token_refused');
      return now.length >= 2 ? now : undefined;
    });
    expect(refused).toMatchObject([
      { name: 'gateway', subject: 'alice', reason: expect.stringContaining(stack.config.urls.mcp) },
      { name: 'gateway', reason: 'it is not a JWT' },
    ]);
    for (const token of [ofAnotherService, await stack.token('agent'), await stack.token('olivia', 'audit')])
      expect(logText()).not.toContain(token.split('.')[2]);
  });

  it('the log never contains arguments', () => {
    expect(logText()).not.toContain(SECRET_CONTENT);
    expect(logText()).not.toContain('traced.txt');
  });
});

describe('the authority in two processes with two databases', () => {
  const count = async (database: Pool, table: string) =>
    (await database.query<{ count: number }>(`SELECT count(*)::int FROM ${table}`)).rows[0]?.count;

  it('a decision point and an access request service in two processes share only keys over HTTP, and calls run [ARAP-GEN-03, ARAP-GEN-04, ARAP-CMP-10, ARAP-CMP-20, ARAP-BND-24, ARAP-SCP-04]', async () => {
    const { hold, approve, writes } = heldCalls(() => stack);
    const [requests, evaluations] = ['approvals.access_request', 'pdp.evaluation'] as const;
    const other = await stack.database();
    const counts = async () => [
      ...[await count(pdpDatabase, evaluations), await count(pdpDatabase, requests)],
      ...[await count(other, evaluations), await count(other, requests)],
    ];
    const [evaluated = 0, , , requested = 0] = await counts();
    const { taskId, path, request } = await hold();
    expect(existsSync(path)).toBe(false);
    await approve(request);
    expect(await end(taskId)).toEqual({ status: 'completed', disposition: 'approved-executed' });
    expect([existsSync(path), writes(path)]).toEqual([true, 1]);
    expect(await counts()).toEqual([evaluated + 1, 0, 0, requested + 1]);
  });
});

describe('killed processes', () => {
  let earlier!: Awaited<ReturnType<typeof connectEarlier>>['client'];
  beforeAll(async () => void ({ client: earlier } = await connectEarlier(stack, '2025-11-25')));
  afterAll(() => earlier?.close());

  it("after kill -9 of gateway and worker, approved calls run once although the decision point has forgotten its denials, and a running call's status stays cautious [ARAP-GEN-04, ARAP-GEN-06, ARAP-REV-17] [APPR-211, AT-2]", () =>
    killAmidCalls(stack, ['gateway', 'worker'], async () => {
      // From then on it recognizes approvals by their content alone. It is stopped, and may hold a lock on the table.
      expect((await pdpDatabase.query('DELETE FROM pdp.evaluation')).rowCount).toBeGreaterThan(2);
      await expect(earlier.ping()).rejects.toThrow();
    }));

  it('after kill -9 of the gateway, a client of an earlier revision goes on with its session', async () => {
    expect(await earlier.ping()).toEqual({});
    const names = async () => (await earlier.listTools()).tools.map(({ name }) => name);
    await waitFor(async () => (await names()).includes('files__write_file'));
  });
});
