import type { AuthInfo, InitializeRequest, JSONRPCRequest, Server } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../shared/clock.ts';
import { DEFAULT_LOG_LEVEL, type SessionView } from '../wire/request-context.ts';
import type { EventLog } from './event-log.ts';
import type { DeclaredSession } from './session-id.ts';
import { SessionTransport } from './transport.ts';

/** Questions that the client of one session has not answered yet. */
const MAX_QUESTIONS = 16;

/** What handlers know of the session, and what they may change. */
export interface SessionState {
  readonly view: SessionView;
  readonly setLogLevel: (level: string) => void;
  /** The client says that its roots have changed. */
  readonly rootsChanged: () => void;
  /** Sends a notification that belongs to no request. */
  readonly announce: (method: string, params: Readonly<Record<string, unknown>>) => void;
}

/** Builds the server of a session, with its handlers. */
export type CreateSessionServer = (state: SessionState) => Server;

interface SessionDeps {
  readonly id: string;
  /** The key of its caller. */
  readonly owner: string;
  readonly declared: DeclaredSession;
  readonly events: EventLog;
  readonly createServer: CreateSessionServer;
  readonly clock: Clock;
}

/** A session that serves requests. What it holds is lost with it; its id is enough to make it again. */
export class Session {
  readonly id: string;
  readonly owner: string;
  readonly transport: SessionTransport;
  readonly #clock: Clock;
  readonly #declared: DeclaredSession;
  readonly #closing = new AbortController();
  readonly #server: Server;
  readonly #ofRoots = new Set<() => void>();
  #logLevel: string = DEFAULT_LOG_LEVEL;
  #questions = 0;
  #usedAt: number;

  constructor({ id, owner, declared, events, createServer, clock }: SessionDeps) {
    this.id = id;
    this.owner = owner;
    this.#clock = clock;
    this.#declared = declared;
    this.#usedAt = clock.monotonicMs();
    this.transport = new SessionTransport({ sessionId: id, revision: declared.revision, log: events, clock });
    // Every open question listens to it.
    setMaxListeners(0, this.#closing.signal);
    this.#server = createServer({
      view: this.#view(),
      setLogLevel: (level) => void (this.#logLevel = level),
      rootsChanged: () => this.#ofRoots.forEach((listener) => listener()),
      announce: (method, params) => this.transport.announce(method, params),
    });
    // The transport starts at once, so the server hears everything that is sent from here on.
    void this.#server.connect(this.transport);
  }

  /** For how long nothing was under way, in milliseconds. */
  idleMs(): number {
    if (this.transport.isBusy) this.#usedAt = this.#clock.monotonicMs();
    return this.#clock.monotonicMs() - this.#usedAt;
  }

  serve(
    request: Request,
    serving: { readonly parsedBody: unknown; readonly authInfo: AuthInfo | undefined },
  ): Response {
    this.#usedAt = this.#clock.monotonicMs();
    return this.transport.serve(request, serving);
  }

  /** Tells the protocol layer what was agreed when the session began. The answer has no reader. */
  beginAgain(): void {
    const { revision, client, capabilities } = this.#declared;
    const params: InitializeRequest['params'] = { protocolVersion: revision, capabilities, clientInfo: client };
    const message: JSONRPCRequest = {
      ...{ jsonrpc: '2.0', id: 'made-again', method: 'initialize' },
      params: params,
    };
    void this.transport.begin(message, {}).body?.cancel();
  }

  /** Takes open questions back, and ends the connection of the client that listens. Requests may finish. */
  stop(): void {
    this.#closing.abort();
    this.transport.stopListening();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#server.close();
  }

  #view(): SessionView {
    const logLevel = () => this.#logLevel;
    return {
      ...this.#declared,
      // A session that is made again has other connections to upstreams.
      key: randomUUID(),
      closing: this.#closing.signal,
      get logLevel() {
        return logLevel();
      },
      goneOf: (request) => this.transport.goneOf(request),
      announce: (method, params) => this.transport.announce(method, params),
      isListening: (request) => this.transport.isListening(request),
      onRootsChanged: (listener) => {
        this.#ofRoots.add(listener);
        return () => void this.#ofRoots.delete(listener);
      },
      enterQuestion: () => {
        if (this.#questions >= MAX_QUESTIONS) return undefined;
        this.#questions += 1;
        return () => void (this.#questions -= 1);
      },
    };
  }
}
