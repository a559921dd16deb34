import { createParser } from 'eventsource-parser';
import { Agent, fetch as send, type Response } from 'undici';
import type { Clock } from '../../shared/clock.ts';
import { errorCode } from '../../shared/lifecycle.ts';
import type { Limits } from '../../shared/limits.ts';
import { CliError } from '../context.ts';
import type { Access, Tried } from './access.ts';
import { OWN_COMMAND } from '../own-command.ts';

/** The gateway was not reached, so it got nothing. */
const NOT_SENT: ReadonlySet<string | undefined> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
]);
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;

export interface Outgoing {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
  /** No person waits for this request. */
  readonly isQuiet?: boolean;
  /** How long a gateway may be away, in milliseconds. Default: `gatewayAwayMs`. */
  readonly awayMs?: number;
}

/** An event of a stream. */
export interface StreamEvent {
  readonly id?: string | undefined;
  /** A message; empty if the event only has an id. */
  readonly data: string;
}

interface UpstreamDeps {
  readonly url: string;
  readonly access: Access;
  readonly clock: Clock;
  readonly limits: Limits;
}

/** The MCP endpoint, as the person of the token. */
export class Upstream {
  readonly url: string;
  readonly #deps: UpstreamDeps;
  // A call may wait for minutes without a byte.
  readonly #agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

  constructor(deps: UpstreamDeps) {
    this.url = deps.url;
    this.#deps = deps;
  }

  /**
   * Sends one request. It is sent again only if the gateway got nothing of it, or refused its token. Throws a `CliError` if the gateway is
   * away or takes no token, and other errors if the connection breaks.
   */
  async send(outgoing: Outgoing): Promise<Response> {
    const { access } = this.#deps;
    const asking = { isQuiet: outgoing.isQuiet === true, signal: outgoing.signal, tried: {} satisfies Tried as Tried };
    let token = await access.token(asking);
    for (;;) {
      const answer = await this.#reach(outgoing, token);
      const next = await access
        .after(answer as unknown as globalThis.Response, token, asking)
        .catch(async (error: unknown) => {
          await answer.body?.cancel();
          throw error;
        });
      if (next === undefined) return answer;
      await answer.body?.cancel();
      token = next;
    }
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #reach({ method, headers, body, signal, awayMs }: Outgoing, token: string): Promise<Response> {
    const { url, clock, limits } = this.#deps;
    const until = clock.monotonicMs() + (awayMs ?? limits.gatewayAwayMs);
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await send(url, {
          ...{ method, signal, redirect: 'manual', dispatcher: this.#agent },
          headers: { ...headers, authorization: `Bearer ${token}` },
          ...(body && { body }),
        });
      } catch (error) {
        const { cause } = error as { cause?: unknown };
        if (signal.aborted || !NOT_SENT.has(errorCode(cause))) throw error;
        if (clock.monotonicMs() >= until) throw new CliError(awayFrom(url), { cause: error });
        await clock.after(pauseMs, signal);
      }
    }
  }
}

const awayFrom = (url: string) => `Countersign does not answer at ${url}. Start it with: ${OWN_COMMAND} up`;

/** The events of a stream, as they come. `retry` gets the pause that the server wants before a new connection. Throws when the stream breaks. */
export async function* eventsOf(answer: Response, retry: (ms: number) => void): AsyncGenerator<StreamEvent> {
  const events: StreamEvent[] = [];
  const parser = createParser({ onEvent: ({ id, data }) => void events.push({ id, data }), onRetry: retry });
  const decoder = new TextDecoder();
  for await (const bytes of answer.body ?? []) {
    parser.feed(decoder.decode(bytes as Uint8Array, { stream: true }));
    yield* events.splice(0);
  }
}
