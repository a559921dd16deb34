import {
  isInitializeRequest,
  isJSONRPCRequest,
  isLegacyRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
  type AuthInfo,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { ownerKey, type Principal, subjectKey } from '../../../workflows/domain/principal.ts';
import type { Cancel, Clock } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import { createRateLimit } from '../../shared/http/address-limit.ts';
import type { SealedStates } from '../extensions/sealed-state.ts';
import { callerOf } from '../mcp/authentication.ts';
import { declaresCards } from '../wire/request-context.ts';
import { capabilitiesIn } from './capabilities.ts';
import { EventBudget, EventLog } from './event-log.ts';
import {
  createTombstones,
  instanceIn,
  instanceName,
  openSession,
  sealSession,
  type DeclaredSession,
} from './session-id.ts';
import { Session, type CreateSessionServer } from './session.ts';
import { acceptedBy, refusal } from './sse.ts';

/** Earlier revisions know no sessions over Streamable HTTP. */
const FIRST_REVISION = '2025-03-26';
const MAX_NAME_LENGTH = 100;
/** Sessions that one subject begins in a minute. Further clients work without one. */
const OPENINGS_PER_MINUTE = 240;
/** Stored events of all sessions. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024;
const MAX_TOMBSTONES = 10_000;
/** A session gives its place to a new one after so long without use. */
const GIVES_WAY_MS = 60_000;
const SWEEP_MS = 30_000;
/** Callers whose sessions of other instances were reported. */
const MAX_REPORTED = 1_000;

/** The SDK's text and code: hosts compare them. It is the same for every id that does not count, so that an id reveals nothing. */
const SESSION_NOT_FOUND = -32_001;
const notFound = () => refusal(404, SESSION_NOT_FOUND, 'Session not found');

export interface SessionsDeps {
  readonly config: Pick<Config, 'gateway'>;
  /** Seals for the caller alone, regardless of who owns tasks. */
  readonly seals: SealedStates;
  readonly createServer: CreateSessionServer;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Serving {
  readonly authInfo?: AuthInfo | undefined;
  readonly parsedBody?: unknown;
}

/** The sessions of clients of earlier revisions, in this process. */
export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #settings: Config['gateway']['sessions'];
  readonly #instance: string;
  readonly #budget = new EventBudget(MAX_EVENT_BYTES);
  readonly #openings = createRateLimit({ count: OPENINGS_PER_MINUTE, seconds: 60 });
  readonly #tombstones = createTombstones(MAX_TOMBSTONES);
  readonly #reportElsewhere: ReturnType<typeof createReport>;
  readonly #open = new Map<string, Session>();
  readonly #stopSweeping: Cancel;
  #isStopping = false;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
    this.#settings = deps.config.gateway.sessions;
    this.#instance = instanceName(deps.config);
    this.#reportElsewhere = createReport(deps.log);
    this.#stopSweeping = deps.clock.every(SWEEP_MS, () => this.#sweep());
  }

  /** Answers a request that begins, continues or ends a session. `undefined` for any other: it is served without one. */
  async serve(request: Request, serving: Serving = {}): Promise<Response | undefined> {
    const { parsedBody, authInfo } = serving;
    const id = request.headers.get('mcp-session-id') ?? undefined;
    // A notification of this name has no answer, so its stream would never end.
    const begins = request.method === 'POST' && isJSONRPCRequest(parsedBody) && parsedBody.method === 'initialize';
    if (id === undefined && !begins) return undefined;
    // A request of the present revision has no session, even if its header names one.
    if (!METHODS.has(request.method) || !(await isLegacyRequest(request, parsedBody))) return undefined;
    if (begins || id === undefined) return this.#begin(request, serving);
    const caller = callerOf(authInfo);
    if (request.method === 'DELETE') return this.#end(id, caller);
    const session = await this.#find(id, caller);
    if (session === 'no_room') return undefined;
    return session === 'not_found' ? notFound() : session.serve(request, { parsedBody, authInfo });
  }

  /** Tells every client that listens that a list has changed. */
  notify(what: 'tools' | 'prompts' | 'resources'): void {
    for (const { transport } of this.#open.values()) transport.announce(`notifications/${what}/list_changed`);
  }

  /** Begins no session any more, and ends what would not end by itself. Requests may finish. */
  endStreams(): void {
    this.#isStopping = true;
    for (const session of this.#open.values()) session.stop();
  }

  async close(): Promise<void> {
    this.#isStopping = true;
    this.#stopSweeping();
    await Promise.all([...this.#open.values()].map((session) => session.close()));
    this.#open.clear();
  }

  /** `undefined`: the request is served without a session. */
  async #begin(request: Request, { authInfo, parsedBody }: Serving): Promise<Response | undefined> {
    if (!this.#settings.enabled || this.#isStopping || !isInitializeRequest(parsedBody)) return undefined;
    // It gets the refusal of a request without a session.
    if (acceptedBy(request, parsedBody) !== undefined) return undefined;
    const { protocolVersion, capabilities, clientInfo } = parsedBody.params;
    const revision = agreedOn(protocolVersion);
    if (revision < FIRST_REVISION) return undefined;
    const caller = callerOf(authInfo);
    if ((await this.#openings.take(subjectKey(caller))) !== undefined) return undefined;
    const short = (text: string) => text.slice(0, MAX_NAME_LENGTH);
    const client = { name: short(clientInfo.name), version: short(clientInfo.version) };
    const relayed = { capabilities: capabilitiesIn(revision, capabilities) };
    const declared = {
      revision,
      client,
      ...relayed,
      ...(declaresCards(capabilities) && { showsCards: true as const }),
      ...(capabilities.roots?.listChanged === true && { changesRoots: true as const }),
    };
    const id = await sealSession(this.#deps.seals, this.#instance, caller, declared);
    const session = this.#load(id, ownerKey(caller), declared);
    return session?.transport.begin(parsedBody as never, { request, ...(authInfo && { authInfo }) });
  }

  async #find(id: string, caller: Principal): Promise<Session | 'not_found' | 'no_room'> {
    const owner = ownerKey(caller);
    const known = this.#open.get(id);
    if (known !== undefined) return known.owner === owner ? known : 'not_found';
    const declared = await this.#declaredIn(id, caller);
    if (declared === undefined) return 'not_found';
    // Another request may have made or deleted it meanwhile.
    const other = this.#open.get(id);
    if (other !== undefined) return other;
    if (this.#tombstones.has(id)) return 'not_found';
    const made = this.#load(id, owner, declared);
    made?.beginAgain();
    return made ?? 'no_room';
  }

  /** What the id stands for, if it is this caller's, of this instance, and not deleted. */
  async #declaredIn(id: string, caller: Principal): Promise<DeclaredSession | undefined> {
    const issuedBy = instanceIn(id);
    if (issuedBy === undefined || !this.#settings.enabled) return undefined;
    if (issuedBy === this.#instance && !this.#tombstones.has(id)) return openSession(this.#deps.seals, caller, id);
    if (issuedBy !== this.#instance) this.#reportElsewhere(caller, issuedBy);
    return undefined;
  }

  async #end(id: string, caller: Principal): Promise<Response> {
    const known = this.#open.get(id);
    const isOwn = known ? known.owner === ownerKey(caller) : (await this.#declaredIn(id, caller)) !== undefined;
    if (!isOwn) return notFound();
    this.#tombstones.add(id);
    const session = this.#open.get(id);
    if (session !== undefined) this.#unload(session);
    return new Response(null, { status: 200 });
  }

  /** `undefined` if there is no room for it. */
  #load(id: string, owner: string, declared: DeclaredSession): Session | undefined {
    if (this.#isStopping || !this.#hasRoomFor(owner)) return undefined;
    const events = new EventLog(this.#budget, this.#settings.maxBufferedBytes);
    const session = new Session({ ...this.#deps, id, owner, declared, events });
    // Before anything is awaited, so that an id never stands for two sessions.
    this.#open.set(id, session);
    return session;
  }

  #hasRoomFor(owner: string): boolean {
    const unload = (session: Session) => this.#unload(session);
    const all = [...this.#open.values()];
    const own = all.filter((session) => session.owner === owner);
    if (own.length >= this.#settings.maxPerCaller) return giveWay(own, 0, unload);
    return all.length < this.#settings.max || giveWay(all, GIVES_WAY_MS, unload);
  }

  /** The client can go on with its id. */
  #unload(session: Session): void {
    this.#open.delete(session.id);
    void session.close();
  }

  #sweep(): void {
    for (const session of this.#open.values()) {
      session.transport.sweep();
      if (session.idleMs() > this.#settings.idleSeconds * 1_000) this.#unload(session);
    }
  }
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'DELETE']);

/** As the SDK's server agrees. */
const agreedOn = (requested: string): string =>
  SUPPORTED_PROTOCOL_VERSIONS.includes(requested) ? requested : (SUPPORTED_PROTOCOL_VERSIONS[0] ?? '');

/** Unloads the session that was unused for longest, if one was for so long. Its client can go on with its id. */
function giveWay(sessions: readonly Session[], idleMs: number, unload: (session: Session) => void): boolean {
  const idle = sessions
    .filter(({ transport }) => !transport.isBusy)
    .map((session) => ({ session, ms: session.idleMs() }));
  const [longest] = idle.sort((a, b) => b.ms - a.ms);
  if (longest === undefined || longest.ms < idleMs) return false;
  unload(longest.session);
  return true;
}

/** Says once for each caller that its requests reach another instance than the one that began the session. */
function createReport(log: Logger) {
  const reported = new Set<string>();
  return (caller: Principal, issuedBy: string): void => {
    const key = ownerKey(caller);
    if (reported.has(key)) return;
    if (reported.size >= MAX_REPORTED) reported.clear();
    reported.add(key);
    log.info(
      { event: 'session_elsewhere', instance: issuedBy },
      'a request names a session of another instance. Next: have the proxy route by Mcp-Session-Id, or set gateway.sessions.enabled: false',
    );
  };
}
