import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { timesLogged } from '../support/artefacts.ts';
import { allowFileServer, loseFileServer } from '../support/file-server.ts';
import { heldCalls } from '../support/held-calls.ts';
import { MortalUpstream } from '../support/mortal-upstream.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { openWork, tracesIn } from '../support/traces.ts';
import { waitFor } from '../support/wait-for.ts';

const POLICIES = `
  @id("test-look")
  permit (principal, action == Action::"tools/call", resource) when { resource.id == "ledger__look" };
  @id("test-note") @requestable("operator_approval") @reason("approval_required") @title("Note") @description("Notes.")
  permit (principal, action == Action::"tools/call", resource)
  when { resource.id == "ledger__note" && context has approval && context.approval.verified };`;

let stack!: Stack;
let ledger!: MortalUpstream;
const { hold, approve, end, endExecution, writes } = heldCalls(() => stack);
beforeAll(async () => {
  ledger = new MortalUpstream(await freePort());
  await ledger.start();
  stack = await startStack({
    parts: 'apart',
    timeLimitFactor: 1,
    policies: POLICIES,
    mcpServers: { ledger: { url: ledger.url } },
  });
  await waitFor(async () => (await look()) === RAN);
});
afterAll(async () => {
  await stack?.stop();
  await ledger.stop();
});

const call = async (name: string, args: object = {}) =>
  (await stack.rpcOnce(await stack.token('agent'), 'tools/call', { name, arguments: args })).body;
/** The outcome of a call that policy allows. */
const look = async (name = 'files__list_allowed_directories') => {
  const { result, error } = await call(name);
  const [{ text }] = (result?.['content'] ?? [{}]) as [{ text?: string }];
  return error ?? (result?.['isError'] === true ? text : RAN);
};
const RAN = 'ran';
const EXECUTED = { status: 'completed', disposition: 'approved-executed' };
const later = (what: string) => ({
  code: -32_603,
  message: `${what} The tool did not run. The call may be repeated later.`,
});
const stateOf = async (taskId: string) => {
  const text = 'SELECT state, reason FROM gateway.gated_call WHERE task_id = $1';
  return (await (await stack.database()).query<{ state: string; reason: string | null }>(text, [taskId])).rows[0];
};
const logged = (words: string, part: string) => timesLogged(stack, words, part);
/** Waits until the worker has tried twice in vain to continue an approved call. */
const putOff = async (act: () => Promise<void>) => {
  const before = logged('a call could not be evaluated again', 'worker');
  await act();
  await waitFor(() => logged('a call could not be evaluated again', 'worker') >= before + 2);
};
/** The client's and the auditor's messages about an ended call. */
const outcomeOf = async (taskId: string) => {
  const { disposition } = await end(taskId);
  const { result } = (await stack.rpc(await stack.token('agent'), 'tasks/get', { taskId })).body.result ?? {};
  const [{ text }] = (result as { content: [{ text: string }] }).content.slice(-1) as [{ text: string }];
  const { disposition: recorded, sealIntact, headline, answers } = await stack.record(taskId);
  expect([recorded, sealIntact, (answers as { contradictions: [] }).contradictions]).toEqual([disposition, true, []]);
  return { disposition, headline, text };
};
const nothingOpen = () => waitFor(async () => (await openWork(stack)).length === 0);

describe('without a policy decision point', () => {
  const ERROR = later('The gateway could not get an authorization decision.');
  const signal = (name: NodeJS.Signals) => async () => stack.signal('pdp', name);

  it.each([
    ['that is dead', () => stack.kill('pdp'), () => stack.startPart('pdp')],
    ['that does not answer', signal('SIGSTOP'), signal('SIGCONT')],
  ])('%s no call is forwarded or requested, and with one the same call runs', async (_case, lose, recover) => {
    await lose();
    const before = await tracesIn(stack);
    const write = { path: join(stack.files, 'undecided.txt'), content: 'x' };
    const answers = await Promise.all([look(), call('files__write_file', write)]);
    expect(answers).toEqual([ERROR, expect.objectContaining({ error: ERROR })]);
    expect(await tracesIn(stack)).toEqual(before);
    await recover();
    await waitFor(async () => (await look()) === RAN);
    // A stopped service then answers requests that have already been given up.
    const { 'pdp.evaluation': _answers, ...after } = await tracesIn(stack);
    expect(before).toMatchObject({ ...after, 'calls of tools': after['calls of tools'] - 1 });
  });

  it('an approved call waits for one, and then runs once', async () => {
    const { taskId, path, request } = await hold();
    await stack.kill('pdp');
    await putOff(() => approve(request));
    expect([await stateOf(taskId), writes(path)]).toEqual([{ state: 'granted', reason: null }, 0]);
    await stack.startPart('pdp');
    expect(await end(taskId)).toEqual(EXECUTED);
    expect([writes(path), readFileSync(path, 'utf8')]).toEqual([1, path]);
    await nothingOpen();
  });
});

describe('without an approval service', () => {
  const ERROR = later('The approval service cannot be reached.');
  const write = (path: string) => call('files__write_file', { path, content: path });

  it('a call may be repeated, and all its attempts open one request', async () => {
    const before = await tracesIn(stack);
    const path = join(stack.files, 'repeated.txt');
    await stack.kill('approvals');
    for (const attempt of [1, 2]) expect([attempt, (await write(path)).error]).toEqual([attempt, ERROR]);
    expect(await openWork(stack)).toEqual(['gated call preparing']);
    await stack.startPart('approvals');
    const taskId = await waitFor(async () => (await write(path)).result?.['taskId'] as string | undefined);
    await waitFor(async () => String(await openWork(stack)) === 'access request pending,gated call pending');
    expect(await tracesIn(stack)).toMatchObject({
      'gateway.gated_call': before['gateway.gated_call'] + 1,
      'gateway.submission': before['gateway.submission'] + 1,
      'approvals.access_request': before['approvals.access_request'] + 1,
      'calls of tools': before['calls of tools'],
    });
    const [request] = await stack.openRequests(1);
    if (request !== undefined) await approve(request);
    expect([await end(taskId), writes(path)]).toEqual([EXECUTED, 1]);
    await nothingOpen();
  });

  it('a call that is not repeated is given up with its request', async () => {
    const before = await tracesIn(stack);
    const path = join(stack.files, 'given-up.txt');
    await stack.kill('approvals');
    expect((await write(path)).error).toEqual(ERROR);
    const database = await stack.database();
    // As old as after worker.abandonAfterSeconds.
    const { rows } = await database.query<{ task_id: string }>(
      `UPDATE gateway.gated_call SET created_at = created_at - interval '2 minutes' WHERE state = 'preparing'
       RETURNING task_id`,
    );
    const taskId = String(rows[0]?.task_id);
    await waitFor(async () => (await stateOf(taskId))?.state === 'cancelled');
    await stack.startPart('approvals');
    await nothingOpen();
    expect(await stateOf(taskId)).toEqual({ state: 'cancelled', reason: 'abandoned' });
    expect(await stack.record(taskId)).toMatchObject({ state: 'cancelled', sealIntact: true });
    const { rows: requests } = await database.query('SELECT status FROM approvals.access_request ORDER BY created_at');
    expect(requests.slice(before['approvals.access_request'])).toEqual([{ status: 'cancelled' }]);
    expect(writes(path)).toBe(0);
  });

  it('an earlier approval is found when it is back', async () => {
    const { taskId, path, request } = await hold();
    stack.signal('worker', 'SIGSTOP');
    await approve(request);
    await waitFor(async () => !(await openWork(stack)).includes('to do callback'));
    await stack.kill('approvals');
    const before = logged('status of an access request could not be read', 'worker');
    stack.signal('worker', 'SIGCONT');
    await waitFor(() => logged('status of an access request could not be read', 'worker') > before);
    expect([await stateOf(taskId), writes(path)]).toEqual([{ state: 'pending', reason: null }, 0]);
    await stack.startPart('approvals');
    expect([await end(taskId), writes(path)]).toEqual([EXECUTED, 1]);
    await nothingOpen();
  });
});

describe('without the upstream', () => {
  const NOT_REACHED = 'The tool did not run: its server cannot be reached. The call may be repeated later.';
  const NO_ANSWER =
    'The tool may have run: its server sent no answer. Check the target system before you repeat the call.';
  /** Where the attempt to start the server takes longer than a call waits, the gateway has no list that it may trust. */
  const NO_LIST = later(
    'The gateway cannot check now whether its server still describes this as the operator accepted it.',
  );
  const lose = () => loseFileServer(stack);
  const letBack = () => {
    allowFileServer(stack);
    stack.releaseUpstream();
  };
  const recover = async (name?: string) => {
    letBack();
    await waitFor(async () => (await look(name)) === RAN);
  };
  // A test that fails leaves the server as the others need it.
  afterEach(letBack);

  it('an allowed call says that it did not run, and runs when the upstream is back', async () => {
    await lose();
    const before = await tracesIn(stack);
    expect([NOT_REACHED, NO_LIST]).toContainEqual(await look());
    await waitFor(async () => (await look()) === NOT_REACHED);
    await waitFor(async () => (await look('ledger__look')) === RAN);
    expect(await tracesIn(stack)).toEqual(before);
    await recover();
  });

  it('an allowed call that was running says that it may have run', async () => {
    stack.holdUpstream();
    const before = stack.upstreamCalls().length;
    const answer = look();
    await waitFor(() => stack.upstreamCalls().length === before + 1);
    await lose();
    expect(await answer).toBe(NO_ANSWER);
    await recover();
  });

  it('an approved call waits for it, and then runs once', async () => {
    await lose();
    const { taskId, path, request } = await hold();
    await putOff(() => approve(request));
    expect([await stateOf(taskId), writes(path)]).toEqual([{ state: 'granted', reason: null }, 0]);
    await recover();
    expect(await end(taskId)).toEqual(EXECUTED);
    expect([writes(path), readFileSync(path, 'utf8')]).toEqual([1, path]);
  });

  it('an approved call whose upstream dies just before it is sent did not run, and says so', async () => {
    const held = async (args: object) => {
      const { result } = await call('ledger__note', args);
      const [request] = await stack.openRequests(1);
      if (request === undefined) throw new Error('no approval is asked for');
      return { taskId: String(result?.['taskId']), request };
    };
    const good = await held({ at: 'good times' });
    await approve(good.request);
    expect(await end(good.taskId)).toMatchObject({ disposition: 'approved-executed' });
    expect(ledger.calls.filter((name) => name === 'note')).toHaveLength(1);
    const { taskId, request } = await held({ at: 'a bad moment' });
    // From here on only the worker lists its tools, when it checks the approved call for the last time.
    ledger.diesAfterList = true;
    await approve(request);
    expect(await outcomeOf(taskId)).toEqual({
      disposition: 'execution-error',
      headline: 'The tool did not run.',
      text: expect.stringMatching(/^The tool did not run: the approved call could not be delivered/),
    });
    expect(await stateOf(taskId)).toEqual({ state: 'execution_error', reason: 'not_sent' });
    expect(await look('ledger__look')).toBe(NOT_REACHED);
    await ledger.start();
    await recover('ledger__look');
    expect(ledger.calls.filter((name) => name === 'note')).toHaveLength(1);
  });

  it('an approved call that was running may have run, and is not run again', async () => {
    const { taskId, path, request } = await hold();
    stack.holdUpstream();
    await approve(request);
    await waitFor(() => writes(path) === 1);
    await lose();
    await endExecution(taskId);
    expect(await outcomeOf(taskId)).toEqual({
      disposition: 'outcome-unknown',
      headline: 'The tool may have run.',
      text: expect.stringMatching(/^The tool may have run; its outcome is unknown/),
    });
    await recover();
    expect([writes(path), existsSync(path)]).toEqual([1, false]);
    await nothingOpen();
  });
});
