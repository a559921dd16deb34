import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Logger } from 'pino';
import { type Page, readQuery, reference, writeCursor } from './filters.ts';
import { CallPage, RecordPage } from './pages/record-page.tsx';
import { addressOf, ListPage, type RecordList } from './pages/list-page.tsx';
import { type RecordSource, type RecordView, summaryOf, viewOf } from './record-view.ts';
import type { Reply } from './reply.tsx';
import type { OutcomeRecords, StoredEvidence, StoredRecord } from './stores/outcome-record.store.ts';

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

/** The ways to one record: by its own reference, its task, a decision, or the digest of its call. */
export function recordRoutes({ records, seals, log }: RecordSource & { readonly log: Logger }, reply: Reply): Router {
  /** Who read what is on record too. */
  const read = (stored: StoredEvidence) => {
    const { outcomeRef, gatedCallId: gatedCall, taskId: task, trace, tool } = stored;
    log.info({ event: 'record_read', outcomeRef, gatedCall, task, trace, tool }, 'an auditor read an outcome record');
    return viewOf(stored, seals);
  };
  const router = Router();
  router.get('/by-task/:id', async (request, response) => {
    const taskId = idOf(request);
    const found = taskId === undefined ? undefined : await records.byTask(taskId);
    if (found) return sendRecord(reply, request, response, read(found));
    const state = taskId === undefined ? undefined : await records.openState(taskId);
    if (state === undefined) return nothingFound(reply, request, response);
    reply.problem(request, response, {
      status: 404,
      title: 'This call has not ended',
      detail: `Its state is ${state}. The record is written in the moment in which it ends.`,
    });
  });
  router.get('/by-decision/:id', async (request, response) => {
    const [found, ...more] = await search(request, (id) => records.byDecision(id));
    if (!found) return nothingFound(reply, request, response);
    if (more.length === 0) return sendRecord(reply, request, response, read(found));
    const refs = [found, ...more].map(({ outcomeRef }) => outcomeRef).join(', ');
    const detail = `The policy decision point used this evaluation id more than once: ${refs}.`;
    reply.problem(request, response, { status: 409, title: 'Several records name this decision', detail });
  });
  router.get('/by-call/:id', showCall({ records, read, reply }));
  router.get('/:id', async (request, response) => {
    const outcomeRef = idOf(request);
    const found = outcomeRef === undefined ? undefined : await records.byRef(outcomeRef);
    if (!found) return nothingFound(reply, request, response);
    sendRecord(reply, request, response, read(found));
  });
  return router;
}

interface ShowCall {
  readonly records: RecordSource['records'];
  readonly read: (stored: StoredEvidence) => RecordView;
  readonly reply: Reply;
}

/** The newest records of a call, by its keyed digest. */
function showCall({ records, read, reply }: ShowCall): RequestHandler {
  return async (request, response) => {
    const digest = idOf(request);
    if (digest?.startsWith('sha-256:')) {
      return reply.problem(request, response, {
        status: 400,
        title: 'A call is found by its keyed digest',
        detail:
          'Ask with the digest that records show (hmac-sha-256:…). Of a plain one, `countersign audit show` makes it for an operator, who has the digest key.',
      });
    }
    if (digest === undefined) return nothingFound(reply, request, response);
    const { found, isWhole } = await records.byCall(digest);
    const items = found.map(read);
    const [first] = items;
    if (!first) return nothingFound(reply, request, response);
    const title = 'Records of one call';
    reply.send(request, response, {
      title,
      // The list has the rest, page by page.
      data: { items, ...(!isWhole && { more: addressOf({ callDigest: first.callDigest }) }) },
      page: () => <CallPage items={[first, ...items.slice(1)]} isWhole={isWhole} />,
    });
  };
}

/** The id in the path, or `undefined` when nothing can have such an id. */
const idOf = (request: Request) => reference.safeParse(request.params['id']).data;

async function search(request: Request, look: (id: string) => Promise<readonly StoredEvidence[]>) {
  const id = idOf(request);
  return id === undefined ? [] : look(id);
}

function sendRecord(reply: Reply, request: Request, response: Response, view: RecordView): void {
  reply.send(request, response, { title: view.headline, data: view, page: () => <RecordPage view={view} /> });
}

function nothingFound(reply: Reply, request: Request, response: Response): void {
  const detail =
    'Look at how it was copied: a record is found by its whole reference, task id, decision id or call digest.';
  reply.problem(request, response, { status: 404, title: 'There is no such record', detail });
}
