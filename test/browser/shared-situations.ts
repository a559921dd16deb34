import type { Page } from 'playwright-core';
import type { Situation } from '../support/situations.ts';

type Post = (name: string, path: string, body: object) => Promise<void>;

type Open = () => Promise<{ readonly id: string }>;

/** Requests whose approver asked the requester, who is `rita`. `open` opens one for `alice`. */
export function questionSituations(open: Open, post: Post): Situation[] {
  const asked = async () => {
    const { id } = await open();
    for (const number of [1, 2])
      await post('alice', `/requests/${id}/questions`, { question: `Why is ${number} needed?`, stage: 1, number });
    return `/requests/${id}`;
  };
  const answer = async (page: Page) => {
    await page.getByLabel('Your answer').first().fill('It is the last one');
    await page.getByRole('button', { name: 'Answer' }).first().click();
    await page.getByText('“It is the last one”').waitFor();
  };
  return [
    { name: 'a request with questions that wait', as: 'alice', prepare: asked },
    { name: 'a request with questions to one', as: 'rita', prepare: asked },
    { name: 'a request with a question that one answered', as: 'rita', prepare: asked, arrive: answer },
    {
      name: 'a list with questions to one',
      as: 'rita',
      prepare: async () => (await asked(), '/requests?status=yours'),
    },
  ];
}

/** Requests whose approver gave others more time, or handed them over. `open` opens one for `alice`, whose stage has an end. */
export function sharedSituations(open: Open, post: Post): Situation[] {
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
