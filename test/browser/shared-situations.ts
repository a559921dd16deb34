import type { Situation } from '../support/situations.ts';

type Post = (name: string, path: string, body: object) => Promise<void>;

/** Requests whose approver gave others more time, or handed them over. `open` opens one for `alice`, whose stage has an end. */
export function sharedSituations(open: () => Promise<{ readonly id: string }>, post: Post): Situation[] {
  const handedOver = async () => {
    const { id } = await open();
    await post('alice', `/requests/${id}/hand-overs`, { to: 'dora', stage: 1, number: 1 });
    return `/requests/${id}`;
  };
  return [
    {
      name: 'a request with more time to give',
      as: 'alice',
      prepare: async () => {
        const { id } = await open();
        await post('alice', `/requests/${id}/extensions`, { stage: 1, number: 1, minutes: 5, reason: 'lunch' });
        return `/requests/${id}`;
      },
    },
    { name: 'a request that one handed over', as: 'alice', prepare: handedOver },
    { name: 'a request that was handed over to one', as: 'dora', prepare: handedOver },
    { name: 'delegations with a hand-over', as: 'alice', prepare: async () => (await handedOver(), '/delegations') },
    {
      name: 'delegations with a hand-over to one',
      as: 'dora',
      prepare: async () => (await handedOver(), '/delegations'),
    },
  ];
}
