import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { ENCODED_VALUE } from './identifiers.ts';

const NAME_HEADER = 'mcp-name';
/** Methods whose task a client has to name in the header, too. @see SEP-2663, Routing headers */
const TASK_METHODS: ReadonlySet<unknown> = new Set(['tasks/get', 'tasks/update', 'tasks/cancel']);
/** Clients that are remembered, so that each is logged once. */
const MAX_CLIENTS = 1_000;

/** Completes the header of a request about a task; of every other request it changes nothing. */
export type CompleteTaskHeader = (request: Request, asked: unknown, caller: () => Principal) => void;

/**
 * Puts the header `Mcp-Name` in where a request about a task has none. Present clients leave it out, and the SDK refuses such
 * requests, so a call that waits could not be looked at. Nothing is lost by it: the header is for routers before us, which have
 * seen that it is not there. One that is there is left as it is, and has to agree with the body (TASK-081, HTTP-012).
 */
export function completesTaskHeaders(log: Logger): CompleteTaskHeader {
  const told = new LRUCache<string, true>({ max: MAX_CLIENTS });
  return (request, asked, caller) => {
    const { method, params } = (asked ?? {}) as { method?: unknown; params?: { taskId?: unknown } | null };
    const taskId = params?.taskId;
    if (!TASK_METHODS.has(method) || typeof taskId !== 'string' || request.headers.has(NAME_HEADER)) return;
    const { start, end } = ENCODED_VALUE;
    request.headers.set(NAME_HEADER, `${start}${Buffer.from(taskId).toString('base64')}${end}`);
    const { issuer, clientId } = caller();
    const client = JSON.stringify([issuer, clientId]);
    if (told.has(client)) return;
    told.set(client, true);
    log.info(
      { clientId, method },
      'a client names no task in the header Mcp-Name; its requests are served all the same',
    );
  };
}
