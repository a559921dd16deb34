import type { Logger } from 'pino';
import { type Cancel, orAborted } from '../../../apps/shared/clock.ts';
import type { Timing } from '../../../apps/shared/limits.ts';
import { objectOf } from '../../../workflows/domain/canonical-json.ts';
import type {
  AskableClient,
  RelayedAnswer,
  RelayedTaskAnswer,
  Unanswered,
  UpstreamAnswer,
} from '../../../workflows/domain/upstream-ports.ts';
import { ADDRESSES_FIRST, AskingConnection } from './asking-connection.ts';
import { asksOfEarlier, withinAsks, withoutOtherQuestions } from './asks.ts';
import type { UpstreamConnection } from './connection.ts';
import { askOnce, type AskOptions, type Connection, type UpstreamRequest } from './request.ts';

/** Connections of one session, and of all. A call for which there is no room goes over the shared one, where nothing can be asked. */
const MAX_PER_SESSION = 10;
const MAX_OVERALL = 200;
/** After so long without a request, in milliseconds, a connection is closed. */
const IDLE_MS = 300_000;

interface Own {
  readonly upstream: UpstreamConnection;
  readonly session: string;
  readonly connection: AskingConnection;
  readonly stopListening: Cancel;
  cancelClosing: Cancel | undefined;
}

type Answer = RelayedAnswer | UpstreamAnswer | RelayedTaskAnswer;

/** The connections over which upstreams of earlier revisions ask: one for each session and upstream, opened by its first request. */
export class AskingConnections {
  readonly #deps: Timing & { readonly log: Logger };
  /** The one that was used last is the last one. */
  readonly #open = new Map<string, Own>();

  constructor(deps: Timing & { readonly log: Logger }) {
    this.#deps = deps;
  }

  /** Sends one request, once, to an upstream that may ask only what its operator allows. Never rejects. */
  async send<T extends Answer>(
    { upstream, connection }: { readonly upstream: string; readonly connection: UpstreamConnection | undefined },
    { conversation, ...request }: UpstreamRequest,
    options: AskOptions,
    read: (raw: unknown) => T,
  ): Promise<T | Unanswered> {
    if (connection === undefined) return { kind: 'not_sent', cause: 'no such upstream' };
    const { asks } = connection.server;
    const told = conversation && { ...conversation, capabilities: withinAsks(conversation.capabilities, asks) };
    const over = await this.#over(upstream, connection, options);
    const answer = withoutOtherQuestions(
      await askOnce<T>(over, { ...request, conversation: told }, options, read),
      asks,
    );
    if (over === connection) return answer;
    for (const [key, own] of this.#open) if (own.connection === over) this.#closeLater(key, own);
    return withAddresses(answer, options.askable);
  }

  /** The connection for a request: its session's own, if the upstream may ask its client. Otherwise the shared one. Never rejects. */
  async #over(name: string, upstream: UpstreamConnection, { askable, signal }: AskOptions): Promise<Connection> {
    if (askable === undefined || askable.closing.aborted) return upstream;
    const { server } = upstream;
    const asks = asksOfEarlier(server);
    const { extensions: _none, ...capabilities } = withinAsks(askable.capabilities, asks);
    if (Object.keys(capabilities).length === 0) return upstream;
    const client = await orAborted(upstream.connect(), signal).catch(() => undefined);
    const isLate = askable.closing.aborted || upstream.isRetired;
    if (client?.getProtocolEra() !== 'legacy' || isLate) return upstream;
    const key = JSON.stringify([upstream.id, askable.key]);
    const known = this.#open.get(key);
    if (known !== undefined) return this.#used(key, known);
    if (!this.#hasRoomFor(askable.key)) {
      this.#deps.log.warn(
        { upstream: name },
        'too many sessions have connections of their own; a call goes over the shared one',
      );
      return upstream;
    }
    const { credentials } = upstream;
    const log = this.#deps.log.child({ upstream: name });
    const own = { server, credentials, caller: askable.caller, capabilities, asks, ...this.#deps, log };
    return this.#used(key, this.#add(key, { upstream, askable, connection: new AskingConnection(own) }));
  }

  /** The upstream has other settings, or is gone: nothing is asked over its connections any more. */
  async retire(upstream: UpstreamConnection): Promise<void> {
    const its = [...this.#open].filter(([, own]) => own.upstream === upstream);
    await Promise.all(its.map(([key]) => this.#retire(key)));
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()];
    for (const key of [...this.#open.keys()]) void this.#retire(key);
    await Promise.all(all.map(({ connection }) => connection.close()));
  }

  #add(
    key: string,
    of: {
      readonly upstream: UpstreamConnection;
      readonly askable: AskableClient;
      readonly connection: AskingConnection;
    },
  ): Own {
    const { upstream, connection } = of;
    const { closing, key: session } = of.askable;
    const retire = () => void this.#retire(key);
    closing.addEventListener('abort', retire, { once: true });
    const stopHearing = of.askable.onRootsChanged(() => void connection.rootsChanged());
    const stopListening = () => {
      stopHearing();
      closing.removeEventListener('abort', retire);
    };
    const own: Own = { upstream, session, connection, stopListening, cancelClosing: undefined };
    this.#open.set(key, own);
    return own;
  }

  #used(key: string, own: Own): AskingConnection {
    this.#open.delete(key);
    this.#open.set(key, own);
    this.#closeLater(key, own);
    return own.connection;
  }

  #closeLater(key: string, own: Own): void {
    own.cancelClosing?.();
    own.cancelClosing = this.#deps.clock.once(IDLE_MS, () => {
      if (own.connection.isUsed) this.#closeLater(key, own);
      else void this.#retire(key);
    });
  }

  /** Closes the one that was unused for longest, if that makes room. */
  #hasRoomFor(session: string): boolean {
    const all = [...this.#open];
    const ofSession = all.filter(([, own]) => own.session === session);
    const full = ofSession.length >= MAX_PER_SESSION ? ofSession : all.length >= MAX_OVERALL ? all : undefined;
    if (full === undefined) return true;
    const [key] = full.find(([, { connection }]) => !connection.isUsed) ?? [];
    if (key !== undefined) void this.#retire(key);
    return key !== undefined;
  }

  async #retire(key: string): Promise<void> {
    const own = this.#open.get(key);
    if (own === undefined) return;
    this.#open.delete(key);
    own.cancelClosing?.();
    own.stopListening();
    await own.connection.retire().catch((err: unknown) => {
      this.#deps.log.warn({ err }, 'the connection of a session to an upstream did not close');
    });
  }
}

/** Says of the error that demands addresses first whether the client can open them. */
function withAddresses<T extends Answer>(answer: T | Unanswered, askable: AskableClient | undefined): T | Unanswered {
  if (answer.kind !== 'error' || answer.code !== ADDRESSES_FIRST) return answer;
  const isDeclared = objectOf(askable?.capabilities['elicitation'])['url'] !== undefined;
  return isDeclared ? { ...answer, namesAddresses: true } : answer;
}
