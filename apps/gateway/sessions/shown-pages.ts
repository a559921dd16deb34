import type { ServerContext } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCalls, GatedCallView } from '../../../workflows/domain/ports.ts';
import { type TaskWatchDeps, watchTasks } from '../tasks/watch.ts';
import { ELICITATION_COMPLETE } from '../wire/identifiers.ts';
import { pageQuestion } from '../wire/page-question.ts';
import type { LeavePage, PagesOfSession, SessionView } from '../wire/request-context.ts';
import { askClient } from './converse.ts';
import type { SessionState } from './session.ts';

/** Pages that one session remembers. */
const MAX_PAGES = 20;
/** Calls of all sessions whose end is watched for, after they stopped waiting. */
const MAX_WATCHED = 1_000;

interface EndWatchDeps extends Omit<TaskWatchDeps, 'gatedCalls'> {
  readonly gatedCalls: Pick<GatedCalls, 'findTask'>;
  readonly log: Logger;
}

/** Watches for the end of calls whose page was shown. One for all sessions. */
export class EndWatch {
  readonly #deps: EndWatchDeps;
  #watched = 0;

  constructor(deps: EndWatchDeps) {
    this.#deps = deps;
  }

  note(how: string, error?: unknown): void {
    this.#deps.log.debug({ how, ...(error !== undefined && { err: error }) }, 'the page of a held call was shown');
  }

  /**
   * Resolves with whether the call has ended; `false` above the limit, and when the signal fires. It counts as unread: its owner learns
   * that it has ended, not how.
   */
  async hasEnded(taskId: string, owner: string, signal: AbortSignal): Promise<boolean> {
    if (this.#watched >= MAX_WATCHED) return false;
    this.#watched += 1;
    let hasEnded = false;
    const show = async ({ state }: GatedCallView) => void (hasEnded = isTerminal(state));
    const gatedCalls = { readTask: this.#deps.gatedCalls.findTask };
    try {
      await watchTasks({ ...this.#deps, gatedCalls }, { taskIds: [taskId], owner, signal, show });
    } catch (error) {
      this.note('its end cannot be watched for', error);
    } finally {
      this.#watched -= 1;
    }
    return hasEnded && !signal.aborted;
  }
}

/**
 * The pages of held calls that the client of one session was asked to open, once for each call. No answer is waited for, and none decides
 * anything: only the page does. When the call has ended, the client is told so, on the stream of the request that waited for it, or later
 * on that of the session.
 *
 * @see MCP 2025-11-25, elicitation, URL mode
 */
export class ShownPages implements PagesOfSession {
  readonly #session: SessionView;
  readonly #announce: SessionState['announce'];
  readonly #ends: EndWatch;
  /** By task, the oldest first. Ends the watch of each. */
  readonly #shown = new Map<string, AbortController>();

  constructor({ view, announce }: SessionState, ends: EndWatch) {
    this.#session = view;
    this.#announce = announce;
    this.#ends = ends;
    view.closing.addEventListener('abort', () => this.#forgetAll(), { once: true });
  }

  show(ctx: ServerContext, owner: string, { taskId, approvalPage }: GatedCallView): LeavePage | undefined {
    if (approvalPage === undefined || this.#shown.has(taskId) || this.#session.closing.aborted) return undefined;
    const watching = this.#remember(taskId);
    const takenBack = new AbortController();
    const elicitationId = randomUUID();
    const { method, params } = pageQuestion(approvalPage);
    const question = { method, params: { ...params, elicitationId } };
    askClient({ session: this.#session, ctx }, question, true, takenBack.signal).then(
      () => this.#ends.note('the client answered'),
      (error: unknown) => this.#ends.note('the client did not answer', error),
    );
    return async ({ state }) => {
      takenBack.abort();
      const complete = { method: ELICITATION_COMPLETE, params: { elicitationId } };
      // The client may have gone.
      if (isTerminal(state)) return ctx.mcpReq.notify(complete as never).catch(() => undefined);
      void this.#ends.hasEnded(taskId, owner, watching.signal).then((hasEnded) => {
        if (hasEnded) this.#announce(complete.method, complete.params);
      });
    };
  }

  #remember(taskId: string): AbortController {
    const watching = new AbortController();
    this.#shown.set(taskId, watching);
    const [oldest = taskId] = this.#shown.keys();
    if (this.#shown.size > MAX_PAGES) {
      this.#shown.get(oldest)?.abort();
      this.#shown.delete(oldest);
    }
    return watching;
  }

  #forgetAll(): void {
    for (const watching of this.#shown.values()) watching.abort();
    this.#shown.clear();
  }
}
