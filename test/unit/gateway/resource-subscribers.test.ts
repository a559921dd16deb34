import { beforeEach, expect, it } from '@jest/globals';
import { ResourceSubscribers } from '../../../apps/gateway/sessions/resource-subscriptions.ts';

const URI = 'files://one';
let asked: string[];
let answer: (isTaken: boolean) => void;
let subscribers: ResourceSubscribers;
beforeEach(() => {
  asked = [];
  const taking = new Promise<boolean>((resolve) => (answer = resolve));
  subscribers = new ResourceSubscribers({
    subscribe(_upstream, uri) {
      asked.push(`subscribe ${uri}`);
      return taking;
    },
    unsubscribe: (_upstream, uri) => void asked.push(`unsubscribe ${uri}`),
    onUpdated: () => () => undefined,
  });
});
const subscriber = () => ({ announce: () => undefined });

it('takes back a subscription whose only subscriber left before the upstream took it', async () => {
  const one = subscriber();
  const added = subscribers.add(one, 'files', URI);
  subscribers.remove(one, 'files', URI);
  asked.length = 0;
  answer(true);
  await added;
  expect(asked).toEqual([`unsubscribe ${URI}`]);
});

it('keeps a subscription that another subscriber wants by then', async () => {
  const [one, other] = [subscriber(), subscriber()];
  const added = subscribers.add(one, 'files', URI);
  subscribers.remove(one, 'files', URI);
  asked.length = 0;
  const addedAgain = subscribers.add(other, 'files', URI);
  answer(true);
  expect(await Promise.all([added, addedAgain])).toEqual([true, true]);
  expect(asked).toEqual([`subscribe ${URI}`]);
});
