import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { ownerKey } from '../../../workflows/domain/principal.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { ALICE, aView, TASK_ID } from '../../support/gateway-world.ts';
import { subscribe, type Subscriber } from '../../support/subscriber.ts';
import { waitFor } from '../../support/wait-for.ts';

const gateway = new GatewayUnderTest();
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const subscribers: Subscriber[] = [];
afterEach(() => {
  for (const subscriber of subscribers.splice(0)) subscriber.leave();
});
const listen = async (notifications: Record<string, unknown>) => {
  const subscriber = await subscribe(gateway, notifications);
  subscribers.push(subscriber);
  return subscriber;
};
const listenToTask = () => listen({ taskIds: [TASK_ID] });

it('a subscription ends with its request, and the next one starts with the current state [LISTEN-007]', async () => {
  const first = await listenToTask();
  await first.shown('working');
  first.leave();
  await waitFor(() => world.taskListeners.size === 0);
  world.view = aView({ state: 'granted' });
  world.tell(TASK_ID);
  const tools = await listen({ toolsListChanged: true });
  const next = await listenToTask();
  expect((await next.shown('working'))['statusMessage']).toMatch(/decision has arrived/);
  expect([first.tasks().length, tools.messages.length]).toEqual([1, 1]);
});

it('a subscription reports a task no further once the caller does not own it [LISTEN-011]', async () => {
  const subscriber = await listenToTask();
  await subscriber.shown('working');
  world.lookups.length = 0;
  world.view = undefined;
  world.tell(TASK_ID);
  await waitFor(() => subscriber.isOver());
  expect(world.lookups).toEqual([{ taskId: TASK_ID, owner: ownerKey(ALICE) }]);
  expect(subscriber.tasks()).toHaveLength(1);
});
