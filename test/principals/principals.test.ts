import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startRealGateway } from '../support/real-gateway.ts';
import { KINDS, prepareTasks, storedIn, type Ground } from './attempts.ts';
import { compare, deviation, share, smallestSeen } from './rank-test.ts';
import { LIMIT, runPrincipals } from './run-principals.ts';

describe('tasks of other callers', () => {
  let gateway!: Awaited<ReturnType<typeof startRealGateway>>;
  let ground!: Ground;
  beforeAll(async () => {
    gateway = await startRealGateway(
      { maxCallsPerSecond: 100_000, maxPollsPerSecond: 100_000 },
      { identity: { allowTokensWithoutClient: true } },
    );
    gateway.reset();
    const token = (claims: object) => gateway.authority.token({ aud: gateway.mcpUrl, ...claims });
    const { pool: database } = gateway.database;
    const taskIds = await prepareTasks(
      {
        database,
        async open(nth) {
          const { body } = await gateway.send('tools/call', { name: 'files__pid', arguments: { nth } });
          return String(body.result?.['taskId']);
        },
        cancel: async (taskId) => void (await gateway.send('tasks/cancel', { taskId })),
        // There is no worker that could act.
        rest: async () => undefined,
      },
      2,
    );
    ground = {
      mcpUrl: gateway.mcpUrl,
      taskIds,
      callers: {
        'another person through another client': {
          token: await token({ sub: 'bob', client_id: 'agent-8' }),
          kinds: KINDS,
        },
        'another client': { token: await token({ client_id: 'agent-8' }), kinds: KINDS },
        'no client': { token: await token({ client_id: undefined }), kinds: KINDS },
        'another person': { token: await token({ sub: 'bob' }), kinds: KINDS },
        'the owner': { token: await token({}), kinds: ['purged', 'unknown'] },
      },
      stored: () => storedIn(database),
    };
  });
  afterAll(() => gateway?.stop());

  it('get the same answers as tasks that do not exist, to the byte, and do not change (80 attempts) [TASK-111, SESSION-004]', async () => {
    const { answers, unequal, hasChanged } = await runPrincipals(ground, { attempts: 80, seed: 1 });
    expect(unequal).toBeUndefined();
    expect(answers).toEqual({ 'tasks/get': 1, 'tasks/update': 1, 'tasks/cancel': 1, 'subscriptions/listen': 1 });
    expect(hasChanged).toBe(false);
  });

  it('get other answers for their owner, so the attempts above prove their point', async () => {
    const token = await gateway.authority.token({ aud: gateway.mcpUrl });
    // Not open ones: a subscription to them does not end.
    const callers = { owner: { token, kinds: ['ended', 'unknown'] as const } };
    const { answers } = await runPrincipals({ ...ground, callers }, { attempts: 24, seed: 1 });
    expect(Math.min(...Object.values(answers))).toBeGreaterThan(1);
    const before = await ground.stored();
    await gateway.send('tasks/cancel', { taskId: ground.taskIds.open[0] });
    expect(await ground.stored()).not.toBe(before);
  });
});

describe('latencies', () => {
  /** Shaped like latencies: many small ones, few long ones. The same in every run. */
  const sample = (count: number, by: (value: number) => number = (value) => value) =>
    Array.from({ length: count }, (_, index) => by(1 + ((index * 7919) % count) / count + (index % 50 === 0 ? 20 : 0)));

  it('of one source are not distinguished, also with ties', () => {
    const same = compare(sample(1_000), sample(1_000));
    expect([deviation(same), share(same)]).toEqual([0, 0.5]);
    expect(deviation(compare(Array(50).fill(1).concat(2), Array(50).fill(1).concat(2)))).toBe(0);
  });

  it('are distinguished when one sample is a little longer, in either direction', () => {
    const longer = sample(1_000, (value) => value + 0.1);
    expect(deviation(compare(longer, sample(1_000)))).toBeGreaterThan(LIMIT);
    expect(deviation(compare(sample(1_000), longer))).toBeLessThan(-LIMIT);
  });

  it('are counted as Mann and Whitney do', () => {
    const { pairs, wins, variance } = compare([1, 4, 5], [2, 3]);
    expect([pairs, wins, variance]).toEqual([6, 4, 3]);
  });

  it('have a difference that is just noticed', () => {
    const seen = smallestSeen(sample(1_000), LIMIT);
    expect(seen).toBeGreaterThan(0.01);
    expect(seen).toBeLessThan(0.5);
  });
});
