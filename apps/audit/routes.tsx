import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Logger } from 'pino';
import type { GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import { Refusal } from '../shared/http/csrf.ts';
import { addressOf, writeCursor } from '../shared/http/list-cursor.ts';
import { readQuery, reference } from './filters.ts';
import { CallPage, RecordPage } from './pages/record-page.tsx';
import { LIST, ListPage, type RecordList } from './pages/list-page.tsx';
import { type RecordSource, type RecordView, summaryOf, viewOf } from './record-view.ts';
import { reply } from './reply.tsx';
import type { OutcomeRecords, StoredEvidence } from './stores/outcome-record.store.ts';

/** `GET /outcome-records`: the records that match, newest first. Pages lead both ways and stay right while records are added. */
export function listOutcomeRecords({ records, seals }: RecordSource): RequestHandler {
  return async (request, response) => {
    const page = readQuery(request.query);
    const { rows, previous, next } = await records.list(page);
    const list: RecordList = {
      items: rows.map((stored) => summaryOf(stored, seals)),
      ...(previous && { previousCursor: writeCursor(previous) }),
      ...(next && { nextCursor: writeCursor(next) }),
    };
    reply(request, response, {
      title: 'Outcome records',
      data: list,
      page: () => <ListPage list={list} query={page.query} />,
    });
  };
}

/** One record by its own reference, its task, a decision, or the digest of its call. */
export function recordRoutes({ records, seals, log }: RecordSource & { readonly log: Logger }): Router {
  /** The log says which auditor read which record. */
  const read = (stored: StoredEvidence) => {
    const { outcomeRef, gatedCallId: gatedCall, taskId: task, trace, tool } = stored;
    log.info({ event: 'record_read', outcomeRef, gatedCall, task, trace, tool }, 'an auditor read an outcome record');
    return viewOf(stored, seals);
  };
  const router = Router();
  router.get('/by-task/:id', async (request, response) => {
    const taskId = idOf(request);
    const found = await records.byTask(taskId);
    if (found) return sendRecord(request, response, read(found));
    throw noRecord(await records.openState(taskId));
  });
  router.get('/by-decision/:id', async (request, response) => {
    const id = idOf(request);
    const [found, ...more] = await records.byDecision(id);
    if (!found) throw noRecord(await records.openStateByDecision(id));
    if (more.length === 0) return sendRecord(request, response, read(found));
    const refs = [found, ...more].map(({ outcomeRef }) => outcomeRef).join(', ');
    const nextStep = `The policy decision point used this evaluation id more than once. Choose one of ${refs}.`;
    throw new Refusal(409, 'Several records name this decision', nextStep);
  });
  router.get('/by-call/:id', showCall(records, read));
  router.get('/:id', async (request, response) => {
    const found = await records.byRef(idOf(request));
    if (!found) throw nothingFound();
    sendRecord(request, response, read(found));
  });
  return router;
}

/** The newest records of a call, by its keyed digest. */
function showCall(records: OutcomeRecords, read: (stored: StoredEvidence) => RecordView): RequestHandler {
  return async (request, response) => {
    const digest = idOf(request);
    if (digest.startsWith('sha-256:')) {
      throw new Refusal(
        400,
        'A call is found by its keyed digest',
        'Ask with the digest that records show (hmac-sha-256:…). An operator, who has the digest key, makes it from a plain digest with `countersign audit show`.',
      );
    }
    const { found, isWhole } = await records.byCall(digest);
    const items = found.map(read);
    const [first] = items;
    if (!first) throw nothingFound();
    const title = 'Records of one call';
    reply(request, response, {
      title,
      // The list has the rest, page by page.
      data: { items, ...(!isWhole && { more: addressOf(LIST, { callDigest: first.callDigest }) }) },
      page: () => <CallPage items={[first, ...items.slice(1)]} isWhole={isWhole} />,
    });
  };
}

/** The id in the path. Throws when no record can have such an id. */
function idOf(request: Request): string {
  const { data } = reference.safeParse(request.params['id']);
  if (data === undefined) throw nothingFound();
  return data;
}

function sendRecord(request: Request, response: Response, view: RecordView): void {
  reply(request, response, { title: view.headline, data: view, page: () => <RecordPage view={view} /> });
}

/** Why there is no record: its call is in this state, or there is no call. */
const noRecord = (state: GatedCallState | undefined) =>
  state === undefined
    ? nothingFound()
    : new Refusal(
        404,
        'This call has not ended',
        `Its state is ${state}. Its record is written at the moment it ends.`,
      );

const nothingFound = () =>
  new Refusal(
    404,
    'There is no such record',
    'Check how it was copied: a record is found by its whole reference, task id, decision id or call digest.',
  );
