import type { Page } from 'playwright-core';
import type { ApprovalsUnderTest } from '../support/approvals.ts';
import type { Situation } from '../support/situations.ts';

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

/** What a gateway sends of a preview. */
export const sentPreview = (digit: string, text: string, at = minutesAgo(20)) => ({
  ...{ tool: 'files__edit_file', arguments: { dryRun: true }, taken_at: at, digest: `sha-256:${digit.repeat(64)}` },
  ...{ is_error: false, bytes: 21, parts: [{ text }] },
});

/** What opens a request with a preview. */
export const withPreview = (digit: string, text: string) => ({
  client: { id: 'mcp-gateway', source: { generation: 1, preview: sentPreview(digit, text) } },
});

/** The page of a request that has previews. The gateway answers each question with a further one. */
export function previewSituations(service: ApprovalsUnderTest): Situation[] {
  const open = async () => {
    service.previewAnswer = {
      status: 200,
      body: { preview: sentPreview('c', ' one\n-two\n+2nd', minutesAgo(0)) },
    };
    const request = await service.open({ body: withPreview('a', ' one\n-two'), claims: { template: 'alice' } });
    return `/requests/${request.id}`;
  };
  return [
    {
      name: 'a request with a preview',
      as: 'alice',
      prepare: async () => {
        const path = await open();
        const again = JSON.stringify(sentPreview('b', ' one\n-two\n+2nd', minutesAgo(10)));
        const keep = "SELECT approvals.keep_preview($1, $2, 'i', 'bob', 'Bob')";
        await service.database.pool.query(keep, [path.slice('/requests/'.length), again]);
        return path;
      },
    },
    {
      name: 'a preview that the server does not give again',
      as: 'alice',
      status: 502,
      prepare: open,
      arrive: async (page: Page) => {
        service.previewAnswer = { status: 200, body: { fault: 'late' } };
        await page.getByRole('button', { name: 'Take the preview again' }).click();
        await page.getByRole('alert').waitFor();
      },
      refusals: [429],
    },
  ];
}
