import type { RequestHandler } from 'express';
import { readQuery, writeCursor } from '../filters.ts';
import { ListPage, type RecordList } from '../pages/list-page.tsx';
import { summaryOf, type RecordSource } from '../record-view.ts';
import type { Reply } from '../reply.tsx';

/** `GET /outcome-records`: what matches, newest first, in pages that stay right while records are added. */
export function listOutcomeRecords({ records, seals }: RecordSource, reply: Reply): RequestHandler {
  return async (request, response) => {
    const { query, filter, after, limit } = readQuery(request.query);
    // One more than asked for tells whether there is another page.
    const found = await records.list(filter, { ...(after && { after }), limit: limit + 1 });
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const list: RecordList = {
      items: shown.map((stored) => summaryOf(stored, seals)),
      ...(last && found.length > limit && { nextCursor: writeCursor(last) }),
    };
    reply.send(request, response, {
      title: 'Outcome records',
      data: list,
      page: () => <ListPage list={list} query={query} />,
    });
  };
}
