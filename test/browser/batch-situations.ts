import type { Page } from 'playwright-core';
import { MAX_BATCH } from '../../apps/approvals/inbox/max-batch.ts';
import { isReady } from '../support/press.ts';
import type { Situation } from '../support/situations.ts';
import type { SubmissionChanges } from '../support/submissions.ts';
import { type requestsOfOneKind, stated, together } from './of-one-kind.ts';

interface Requests extends ReturnType<typeof requestsOfOneKind> {
  readonly open: (template: 'alice' | 'both', changes?: SubmissionChanges) => Promise<{ readonly id: string }>;
  /** A request that alice has decided. */
  readonly decided: () => Promise<{ readonly id: string }>;
}

/** Approves all requests of a page of several. */
async function decideTogether(page: Page): Promise<void> {
  await isReady(page.getByRole('button', { name: 'Approve all' }), page.locator('form[data-decides]'));
  await page.getByRole('button', { name: 'Approve all' }).click();
  await page.getByRole('heading', { name: 'You approved' }).waitFor();
}

/** Pages on which several requests are compared, and decided together. */
export const batchSituations = ({ open, alike, ofOneKind, decided }: Requests): Situation[] => [
  {
    name: 'a list with one row for requests of one kind, of which one stands out',
    as: 'alice',
    prepare: async () => {
      await alike();
      return '/requests?tool=bank__pay';
    },
  },
  { name: 'requests of one kind', as: 'alice', prepare: async () => ofOneKind((await alike()).at(0)) },
  { name: 'several requests to decide together', as: 'alice', prepare: async () => together(await alike()) },
  {
    name: 'selected requests of which some have to be opened',
    as: 'alice',
    prepare: async () => together([...(await alike()), await decided(), await open('both'), { id: 'arq_none' }]),
  },
  {
    name: 'requests that were decided together',
    as: 'alice',
    prepare: async () => together(await alike()),
    arrive: decideTogether,
  },
  {
    name: 'requests that were decided together, of a selection of more than are decided at once',
    as: 'alice',
    prepare: async () => {
      const selected: { readonly id: string }[] = [];
      for (let n = 0; n <= MAX_BATCH; n += 1)
        selected.push(await open('alice', { ...stated('many__one', 'read'), arguments: { n } }));
      return together(selected);
    },
    arrive: decideTogether,
  },
  { name: 'no selected request', as: 'alice', prepare: async () => '/requests/batch', status: 400 },
];
