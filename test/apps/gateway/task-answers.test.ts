import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SERVER_INFO, textOf } from '../../support/gateway-wire.ts';
import { accepted, answering, questionIn, schemaOf, taskOf } from '../../support/input-calls.ts';
import { GIVEN, startGatewayThatAsks, TICKET } from '../../support/waiting-tasks.ts';

let on: Awaited<ReturnType<typeof startGatewayThatAsks>>;
beforeAll(async () => {
  on = await startGatewayThatAsks();
});
afterAll(() => on.real.stop());
beforeEach(() => on.real.reset());

interface Question {
  readonly params: { readonly message: string; readonly requestedSchema: { readonly properties: object } };
}
const questionsOf = (task: Record<string, unknown> | undefined) =>
  Object.entries((task?.['inputRequests'] ?? {}) as Record<string, Question>);

describe('tasks/update with answers', () => {
  it('has the task work again after the last answer, and the request carries the answers [TASK-045, TASK-046, TASK-050]', async () => {
    const { taskId, ticket, night } = await on.waiting();
    const submitted = await on.step(taskId);
    expect(submitted).toEqual([]);
    const ack = { resultType: 'complete', _meta: { [SERVER_INFO]: expect.anything() } };
    expect((await on.update(taskId, { [night]: GIVEN.night })).body.result).toEqual(ack);
    expect(Object.keys((await on.get(taskId))?.['inputRequests'] as object)).toEqual([ticket]);
    expect((await on.update(taskId, { [ticket]: GIVEN.ticket })).body.result).toEqual(ack);
    const { inputRequests, ...task } = (await on.get(taskId)) ?? {};
    expect([task['status'], inputRequests]).toEqual(['working', undefined]);
    await on.step(taskId);
    const [request, ...more] = await on.step(taskId);
    expect(more).toEqual([]);
    expect(JSON.parse(request?.body ?? '')).toMatchObject({
      context: { change: { ticket: 'CHG-1' }, window: { night: true } },
      client: { source: { generation: 2 } },
    });
  });

  it.each<[string, unknown]>([
    ['is too short', accepted({ ticket: 'no' })],
    ['leaves out a required member', accepted({})],
    ['has a member of another type', accepted({ ticket: 7 })],
    ['is empty', { action: 'accept' }],
    ['has an unknown action', { action: 'agree', content: { ticket: 'CHG-1' } }],
    ['is a text', 'CHG-1'],
  ])(
    'with one answer that %s keeps the others, and asks that question again under a new key [TASK-044]',
    async (what, response) => {
      const { taskId, ticket, night } = await on.waiting();
      const { body } = await on.update(taskId, { [night]: GIVEN.night, [ticket]: response });
      // An error would end the task for the official client.
      expect(body.result).toMatchObject({ resultType: 'complete' });
      const [[again, question] = ['', undefined], ...more] = questionsOf(await on.get(taskId));
      expect([again === ticket, more]).toEqual([false, []]);
      const isShaped = what !== 'has an unknown action' && what !== 'is a text';
      expect(question?.params.message).toContain(
        `The last answers do not fit this form.${isShaped ? ' Check: Change ticket.' : ''}`,
      );
      await on.update(taskId, { [ticket]: GIVEN.ticket });
      expect(await on.get(taskId)).toMatchObject({ status: 'input_required' });
      await on.update(taskId, { [again]: GIVEN.ticket });
      expect(await on.get(taskId)).toMatchObject({ status: 'working' });
    },
  );

  it('to other or answered questions is acknowledged and ignored, at any time [TASK-047, TASK-049]', async () => {
    const { taskId, ticket, night } = await on.waiting();
    await on.update(taskId, { [ticket]: GIVEN.ticket });
    const [before] = await on.traceOf(taskId);
    for (const strange of [{ [ticket]: { action: 'decline' } }, { [ticket]: 'nonsense' }, { constructor: 1 }, {}])
      expect((await on.update(taskId, strange)).body.result).toMatchObject({ resultType: 'complete' });
    expect((await on.traceOf(taskId))[0]).toEqual(before);
    await on.update(taskId, { [night]: GIVEN.night });
    const after = await on.traceOf(taskId);
    const again = { [ticket]: accepted({ ticket: 'CHG-2' }), [night]: { action: 'cancel' } };
    await Promise.all([1, 2, 3].map(() => on.update(taskId, again)));
    expect(await on.traceOf(taskId)).toEqual(after);
  });

  it('is refused without the member that has the answers, also where no question is open [TASK-045]', async () => {
    const { taskId } = await on.waiting();
    const working = String(taskOf(await on.asking.call(on.asking.newArguments())));
    for (const one of [taskId, working])
      expect((await on.ask('tasks/update', { taskId: one })).body.error).toMatchObject({ code: -32_602 });
  });

  it('of another caller is answered as if the task did not exist [TASK-048]', async () => {
    const { taskId, ticket } = await on.waiting();
    const before = await on.traceOf(taskId);
    const token = await on.tokenOf({ sub: 'mallory' });
    const { body } = await on.update(taskId, { [ticket]: GIVEN.ticket }, { token });
    expect(body.error).toEqual({ code: -32_602, message: 'Task not found or expired' });
    expect(await on.traceOf(taskId)).toEqual(before);
  });

  it.each(['decline', 'cancel'])(
    'one of which is "%s" asks that question again under a new key, to be answered later [MRTR-043]',
    async (action) => {
      const { taskId, ticket, night } = await on.waiting();
      const { lastUpdatedAt } = (await on.get(taskId)) ?? {};
      const { body } = await on.update(taskId, { [ticket]: GIVEN.ticket, [night]: { action } });
      expect(body.result).toMatchObject({ resultType: 'complete' });
      expect(await on.rowOf(taskId)).toMatchObject({ state: 'input_required', reason: null });
      const task = await on.get(taskId);
      expect(String(task?.['lastUpdatedAt']) > String(lastUpdatedAt)).toBe(true);
      const [[again, question] = ['', undefined], ...more] = questionsOf(task);
      expect([again === night, more]).toEqual([false, []]);
      expect(question?.params).toMatchObject({
        message: expect.stringMatching(/closed or declined.*cancel its task/),
        requestedSchema: { properties: { night: { type: 'boolean' } } },
      });
      await on.update(taskId, { [again]: GIVEN.night });
      expect(await on.get(taskId)).toMatchObject({ status: 'working' });
    },
  );

  it.each([
    ['decline', { action: 'decline' }, 'input_declined', /input that a further approval needs was declined/],
    ['answer with what does not fit', accepted({ ticket: 'no' }), 'input_missing', /needs input that was not given/],
  ])('that %s each time end the call after a few times, and nothing runs', async (_what, response, reason, words) => {
    const { taskId } = await on.waiting();
    const keys = new Set<string>();
    for (let times = 1; times <= 4; times += 1) {
      expect(await on.get(taskId)).toMatchObject({ status: 'input_required' });
      const [key = ''] =
        questionsOf(await on.get(taskId)).find(([, { params }]) => 'ticket' in params.requestedSchema.properties) ?? [];
      keys.add(key);
      await on.update(taskId, { [key]: response });
    }
    expect(keys.size).toBe(4);
    expect(await on.rowOf(taskId)).toMatchObject({ state: 'denied', reason });
    const { status, result } = (await on.get(taskId)) as { status: string; result: object };
    expect([status, textOf(result as never)]).toEqual(['completed', expect.stringMatching(words)]);
  });

  it('of the same question at the same moment ask it again once', async () => {
    const { taskId, night } = await on.waiting();
    await Promise.all([1, 2, 3, 4, 5].map(() => on.update(taskId, { [night]: { action: 'decline' } })));
    expect(await on.rowOf(taskId)).toMatchObject({ state: 'input_required' });
    expect(questionsOf(await on.get(taskId))).toHaveLength(2);
  });

  it('cannot end a call that was cancelled before', async () => {
    const { taskId, ticket, night } = await on.waiting();
    await on.ask('tasks/cancel', { taskId });
    await on.update(taskId, { [ticket]: GIVEN.ticket, [night]: GIVEN.night });
    expect(await on.get(taskId)).toMatchObject({ status: 'cancelled' });
  });

  it('has other keys than a question before the task [TASK-114]', async () => {
    on.asking.needs(schemaOf({ ticket: TICKET }));
    const args = on.asking.newArguments();
    const before = questionIn(await on.asking.call(args));
    const taskId = String(taskOf(await on.asking.call(args, answering(before, GIVEN.ticket))));
    await on.step(taskId);
    const keys = Object.keys((await on.get(taskId))?.['inputRequests'] as object);
    expect(keys).not.toContain(before.key);
    await on.update(taskId, { [before.key]: { action: 'decline' } });
    expect(Object.keys((await on.get(taskId))?.['inputRequests'] as object)).toEqual(keys);
    const other = on.asking.newArguments();
    const asked = questionIn(await on.asking.call(other));
    const response = { inputResponses: { [String(keys[0])]: GIVEN.ticket }, requestState: asked.requestState };
    expect((await on.asking.call(other, { more: response })).body.result).toMatchObject({
      resultType: 'input_required',
    });
  });
});
