import type { ApprovalsUnderTest } from '../support/approvals.ts';
import type { SubmissionChanges } from '../support/submissions.ts';

/** A call whose denial binds what the gateway says of the tool. */
export const stated = (tool: string, effect: string): SubmissionChanges => ({
  tool,
  members: ['agent', 'arguments', 'call', 'call_digest'],
  context: { call: { tool, effect } },
});

/** The address of the page on which these requests are decided together. */
export const together = (requests: readonly { id: string }[]) =>
  `/requests/batch?${requests.map(({ id }) => `id=${id}`).join('&')}`;

type Open = (changes: SubmissionChanges) => Promise<{ readonly id: string }>;

/** Payments that are alike, but for one, and the address of the table that compares them. */
export function requestsOfOneKind(service: ApprovalsUnderTest, open: Open) {
  /** One after the other, so that lists have them in this order. */
  const alike = async () => {
    const opened: { readonly id: string }[] = [];
    for (const amount of [10, 11, 12, 9_000])
      opened.push(await open({ ...stated('bank__pay', 'external'), arguments: { amount, currency: 'EUR' } }));
    return opened;
  };
  const ofOneKind = async (one: { id: string } | undefined) => {
    const { body } = await service.asPerson('alice', '/requests?limit=200&order=newest');
    const found = (body['requests'] as { id: string; alike: string }[]).find(({ id }) => id === one?.id);
    return `/requests?status=yours&alike=${String(found?.alike)}`;
  };
  return { alike, ofOneKind };
}
