import type { RequestHandler } from 'express';
import { readQuery, writeCursor, type Page } from '../filters.ts';
import { ListPage, type RecordList } from '../pages/list-page.tsx';
import { summaryOf, type RecordSource } from '../record-view.ts';
import type { Reply } from '../reply.tsx';
import type { OutcomeRecords, StoredRecord } from '../stores/outcome-record.store.ts';

/** `GET /outcome-records`: what matches, newest first, in pages that stay right while records are added, and that lead both ways. */
export function listOutcomeRecords({ records, seals }: RecordSource, reply: Reply): RequestHandler {
  return async (request, response) => {
    const page = readQuery(request.query);
    const { shown, hasNewer, hasOlder } = await look(records, page);
    const [first, last] = [shown[0], shown.at(-1)];
    const list: RecordList = {
      items: shown.map((stored) => summaryOf(stored, seals)),
      ...(first && hasNewer && { previousCursor: writeCursor(first) }),
      ...(last && hasOlder && { nextCursor: writeCursor(last) }),
    };
    reply.send(request, response, {
      title: 'Outcome records',
      data: list,
      page: () => <ListPage list={list} query={page.query} />,
    });
  };
}

interface Found {
  readonly shown: readonly StoredRecord[];
  readonly hasNewer: boolean;
  readonly hasOlder: boolean;
}

/** One more than asked for tells whether there is another page. The page that a position comes from is on its other side. */
async function look(records: OutcomeRecords, { filter, after, before, limit }: Omit<Page, 'query'>): Promise<Found> {
  if (before === undefined) {
    const found = await records.list(filter, { ...(after && { after }), limit: limit + 1 });
    return { shown: found.slice(0, limit), hasNewer: after !== undefined, hasOlder: found.length > limit };
  }
  const found = await records.list(filter, { before, limit: limit + 1 });
  if (found.length > limit) return { shown: found.slice(1), hasNewer: true, hasOlder: true };
  // Nothing is newer than these: the first page, which is a whole one again.
  return look(records, { filter, limit });
}
