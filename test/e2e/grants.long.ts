import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvariants } from '../invariants/check-invariants.ts';
import { acceptOffered } from '../support/accept-offered.ts';
import { sealedDatabase } from '../support/artefacts.ts';
import { startChangingUpstream, type Description } from '../support/changing-upstream.ts';
import { sendUntilAnswered } from '../support/gateway-wire.ts';
import { heldCalls } from '../support/held-calls.ts';
import { requestOf, sealsOf } from '../support/sealed-calls.ts';
import { signInTo } from '../support/signing-in.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const ORIGINAL: Description = {
  description: 'Pays what is owed.',
  properties: { account: { type: 'string' }, amount: { type: 'integer', 'x-mcp-header': 'Amount' } },
  annotations: { destructiveHint: true },
};
const CHANGED = { ...ORIGINAL, description: 'Pays twice what is owed.' };
const EXECUTED = { status: 'completed', disposition: 'approved-executed' };
const NOT_EXECUTED = { status: 'completed', disposition: 'denied-not-executed' };

let stack!: Stack;
let bank!: Awaited<ReturnType<typeof startChangingUpstream>>;
const { end } = heldCalls(() => stack);
beforeAll(async () => {
  bank = await startChangingUpstream(ORIGINAL);
  stack = await startStack({
    parts: 'apart',
    servers: 'shared',
    rules: [{ approve: { server: 'bank', tool: 'pay' }, grantable: { minutes: 5, uses: 1_000 } }],
    mcpServers: { bank: { url: bank.url } },
    config: {
      gateway: { maxOpenPerCaller: 5_000 },
      // The product's own poll intervals: hundreds of waiting calls are not polled every second.
      worker: { resolutionPollMinSeconds: 30, resolutionPollMaxSeconds: 600 },
    },
  });
});
afterAll(async () => {
  await stack?.stop();
  await bank.close();
});

interface Paying {
  /** No two calls have the same, so it names the call at the bank. */
  readonly amount: number;
  /** Undefined for a call that is not on hold. */
  readonly taskId: string | undefined;
  readonly said: string;
}

let amounts = 0;
async function pay(args: Record<string, unknown>, who = 'agent'): Promise<Paying> {
  const amount = (amounts += 1);
  const headers = { 'mcp-param-amount': String(amount) };
  const call = { name: 'bank__pay', arguments: { ...args, amount } };
  const { body } = await sendUntilAnswered({ mcpUrl: stack.config.urls.mcp }, 'tools/call', call, {
    token: await stack.token(who),
    headers,
  });
  return { amount, taskId: body.result?.['taskId'] as string | undefined, said: JSON.stringify(body.result) };
}
const payAll = (count: number, account: string) =>
  Promise.all(Array.from({ length: count }, () => pay({ account: `${account}7` })));
const tasksOf = (calls: readonly Paying[]) => calls.map(({ taskId }) => taskId);

/** The amounts of the calls that have arrived at the bank since there were so many. */
const paidSince = (count: number) =>
  bank.headers
    .slice(count)
    .map((headers) => Number(headers['mcp-param-amount']))
    .sort((a, b) => a - b);

/** Makes a call, and lets `alice` approve it with a grant for any amount, and for accounts that begin so. */
async function give(account: string, uses: number): Promise<string> {
  const { taskId = '' } = await pay({ account: `${account}1` });
  const { id, callDigest } = await requestOf(await sealedDatabase(stack), taskId);
  const { approvals, issuer } = stack.config.urls;
  const { site } = await signInTo({ site: approvals, issuer }, 'alice');
  const csrfToken = /name="csrfToken" value="([^"]+)"/.exec(await (await site.go(`/requests/${id}`)).text())?.[1] ?? '';
  const choices = { 'how-0': 'begins', 'begins-0': account, 'how-1': 'any' };
  const form = { csrfToken, callDigest, minutes: '5', uses: String(uses), ...choices };
  expect((await site.go(`/requests/${id}/grants`, form)).status).toBe(303);
  expect(await end(taskId)).toEqual(EXECUTED);
  const text = 'SELECT id FROM approvals."grant" WHERE access_request_id = $1';
  const { rows } = await (await stack.database()).query<{ id: string }>(text, [id]);
  return rows[0]?.id ?? '';
}

/** The requests that a grant approved. */
async function votesBy(grant: string): Promise<string[]> {
  const text = 'SELECT access_request_id AS id FROM approvals.vote WHERE grant_id = $1 ORDER BY 1';
  return (await (await stack.database()).query<{ id: string }>(text, [grant])).rows.map(({ id }) => id);
}

/**
 * The tasks of the calls that a grant approved. No agent and no upstream is told, so the databases of both sides say it. The gateway
 * learns of a request a moment after the vote.
 */
async function approvedBy(grant: string): Promise<string[]> {
  const of = await sealedDatabase(stack);
  const keys = (await votesBy(grant)).map((id) => sealsOf(of).digest(id));
  const found = await of.database.query<{ task_id: string }>(
    `SELECT g.task_id FROM gateway.gated_call g JOIN gateway.submission s ON s.gated_call_id = g.id
     WHERE s.access_request_key = ANY ($1)`,
    [keys],
  );
  return found.rows.map(({ task_id: taskId }) => taskId);
}

/** Each call that the grant approved has run once, no other has, and all other calls wait for a person. Answers the tasks that ran. */
async function expectOnlyApprovedRan(grant: string, calls: readonly Paying[], paidBefore: number): Promise<string[]> {
  const approved = await approvedBy(grant);
  for (const taskId of approved) expect(await end(taskId)).toEqual(EXECUTED);
  const due = calls.filter(({ taskId = '' }) => approved.includes(taskId)).map(({ amount }) => amount);
  expect(paidSince(paidBefore)).toEqual(due.sort((a, b) => a - b));
  const text = 'SELECT state FROM gateway.gated_call WHERE task_id = ANY ($1)';
  const others = tasksOf(calls).filter((taskId) => !approved.includes(taskId ?? ''));
  const { rows } = await (await stack.database()).query<{ state: string }>(text, [others]);
  expect(rows.map(({ state }) => state)).toEqual(others.map(() => 'pending'));
  return approved;
}

/** Changes a stored grant past the fences, which refuse it. */
const changeGrant = async (grant: string, change: string) =>
  (await stack.database()).query(
    `SET session_replication_role = replica; UPDATE approvals."grant" SET ${change} WHERE id = '${grant}'; SET session_replication_role = origin`,
  );

describe('a grant with a budget of 10', () => {
  it('lets 10 of 200 calls run that come at once, and no call of another agent or just outside of its scope', async () => {
    const grant = await give('team-a/', 10);
    const before = bank.headers.length;
    const outside = [
      'team-a',
      'team-b/7',
      'Team-a/7',
      ' team-a/7',
      'team-a/../team-b/7',
      'team-\u200ba/7',
      'team-a\u2215',
    ];
    const [covered, ...others] = await Promise.all([
      payAll(200, 'team-a/'),
      ...outside.map((account) => pay({ account })),
      pay({}),
      pay({ account: ['team-a/7'] }),
      pay({ account: 'team-a/7', note: 'one argument more' }),
      ...Array.from({ length: 10 }, () => pay({ account: 'team-a/7' }, 'bob')),
    ]);
    const held = others.filter(({ taskId }) => taskId !== undefined);
    // The list in place of a text does not fit the tool, and is refused.
    expect(held).toHaveLength(others.length - 1);
    const ran = await expectOnlyApprovedRan(grant, [...covered, ...held], before);
    expect(ran).toHaveLength(10);
    expect(tasksOf(covered)).toEqual(expect.arrayContaining(ran));
  }, 600_000);
});

describe('the revocation of a grant while 200 calls are on their way', () => {
  // The vote by a grant is the approval. A revocation stops every call that has no vote by then. A call that has one runs, even if its
  // claim comes later.
  it('lets no call run that has no vote by then, and every call that has one', async () => {
    const grant = await give('team-r/', 1_000);
    const before = bank.headers.length;
    const underWay = payAll(200, 'team-r/');
    await waitFor(async () => (await approvedBy(grant)).length >= 5);
    const revoked = await fetch(`${stack.config.urls.approvals}/grants/${grant}/revoke`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await stack.token('alice', 'approvals')}`,
        'content-type': 'application/json',
      },
      body: '{}',
    });
    expect(revoked.status).toBe(200);
    const atRevocation = await votesBy(grant);
    const late = await payAll(50, 'team-r/');
    const ran = await expectOnlyApprovedRan(grant, [...(await underWay), ...late], before);
    expect(ran).toHaveLength(atRevocation.length);
    expect(await votesBy(grant)).toEqual(atRevocation);
    const text = `SELECT count(*)::int AS late FROM approvals.vote v JOIN approvals."grant" g ON g.id = v.grant_id
      WHERE g.id = $1 AND v.at > g.revoked_at`;
    expect((await (await stack.database()).query(text, [grant])).rows).toEqual([{ late: 0 }]);
  }, 600_000);
});

describe('a grant of a tool that changes', () => {
  const listed = async (description: string) => {
    const token = await stack.token('agent');
    await waitFor(async () => {
      const { body } = await stack.rpc(token, 'tools/list', {});
      const tools = body.result?.['tools'] as { name: string; description: string }[];
      return tools.find(({ name }) => name === 'bank__pay')?.description === description;
    });
  };
  const become = async (described: Description) => {
    bank.described = described;
    await acceptOffered(await stack.database(), { bank: { url: bank.url } });
    bank.announce();
    await listed(described.description);
  };

  it('runs no call that it approved before the change, and approves none after it', async () => {
    const grant = await give('team-c/', 20);
    const before = bank.headers.length;
    // The calls are approved, and no worker claims them.
    stack.signal('worker', 'SIGSTOP');
    const waiting = await payAll(10, 'team-c/');
    expect((await approvedBy(grant)).sort()).toEqual(tasksOf(waiting).sort());
    bank.described = CHANGED;
    stack.signal('worker', 'SIGCONT');
    for (const { taskId = '' } of waiting) expect(await end(taskId)).toEqual(NOT_EXECUTED);
    const text = 'SELECT DISTINCT reason FROM gateway.gated_call WHERE task_id = ANY ($1)';
    const { rows } = await (await stack.database()).query(text, [tasksOf(waiting)]);
    expect(rows).toEqual([{ reason: 'tool_changed' }]);

    bank.announce();
    await waitFor(async () => (await pay({ account: 'elsewhere' })).said.includes('`countersign signature accept`'));
    await become(CHANGED);
    const anew = await payAll(10, 'team-c/');
    expect(await approvedBy(grant)).toHaveLength(10);
    expect([tasksOf(anew).includes(undefined), paidSince(before)]).toEqual([false, []]);

    await become(ORIGINAL);
    const back = await payAll(20, 'team-c/');
    const ran = (await approvedBy(grant)).filter((taskId) => tasksOf(back).includes(taskId));
    expect(ran).toHaveLength(10);
    for (const taskId of ran) expect(await end(taskId)).toEqual(EXECUTED);
    expect(paidSince(before)).toHaveLength(10);
  }, 600_000);
});

describe('a grant whose time ends while calls come', () => {
  it('approves calls before that instant, and none at it or after it', async () => {
    const grant = await give('team-t/', 1_000);
    const before = bank.headers.length;
    await changeGrant(grant, `expires_at = clock_timestamp() + interval '2 s'`);
    const over = 'SELECT expires_at <= clock_timestamp() AS over FROM approvals."grant" WHERE id = $1';
    const isOver = async () => (await (await stack.database()).query<{ over: boolean }>(over, [grant])).rows[0]?.over;
    const rounds: Paying[][] = [];
    for (let wasOver: boolean | undefined = false; !wasOver;) {
      wasOver = await isOver();
      rounds.push(await payAll(20, 'team-t/'));
    }
    const ran = await expectOnlyApprovedRan(grant, rounds.flat(), before);
    expect(ran.filter((taskId) => tasksOf(rounds.at(-1) ?? []).includes(taskId))).toEqual([]);
    const text = `SELECT count(*)::int AS late FROM approvals.grant_use u JOIN approvals."grant" g ON g.id = u.grant_id
      WHERE g.id = $1 AND u.at >= g.expires_at`;
    expect((await (await stack.database()).query(text, [grant])).rows).toEqual([{ late: 0 }]);
  }, 600_000);
});

it('after all of this, what must never happen has not happened', async () => {
  await expectInvariants(await stack.database());
});
