import Provider from 'oidc-provider';
import { fetch as fetchGuarded } from 'undici';
import type { GuardedAgent } from '../../http/guarded-agent.ts';
import { createRateLimit } from '../../http/address-limit.ts';
import type { Timing } from '../../limits.ts';
import type { HostState } from './host-state.ts';

/** Bytes of a document, after decompression. The draft recommends this limit. */
const MAX_BYTES = 5 * 1_024;
const LONGEST_ID = 1_000;
const FETCHES_PER_MINUTE = 30;

export interface HostFetching extends Timing {
  /** Addresses of our own pages that learn of a sign-out. The issuer calls these without the guard. */
  readonly ownPages: ReadonlySet<string>;
  readonly guard: GuardedAgent;
  readonly documents: HostState['documents'];
}

type Fetch = (url: string | URL | Request, options?: RequestInit) => Promise<Response>;

/**
 * The only way in which the issuer makes requests. It calls our own pages, and reads the document of a host. A document comes from a
 * public address, or from a network that the operator allows; without redirects, as JSON, small and soon. If its server is away while a
 * host refreshes its token, the last document stands in for it. Otherwise a short outage would sign the host out.
 * @see draft-ietf-oauth-client-id-metadata-document, section 6.5, and RFC 9700, section 4.1.3
 */
export function createIssuerFetch({ ownPages, guard, documents, clock, limits }: HostFetching): Fetch {
  // Requests without a sign-in cause fetches, so there are few per minute over all.
  const limit = createRateLimit({ count: FETCHES_PER_MINUTE, seconds: 60 });
  const read = async (address: string): Promise<Answer> =>
    (await limit.take('all')) === undefined
      ? readDocument(address, { guard, signal: clock.signalAfter(limits.hostDocumentMs) })
      : { status: undefined, error: new Error('too many documents were fetched in the last minute') };
  return async (url, options = {}) => {
    const address = url instanceof Request ? url.url : String(url);
    if (ownPages.has(address)) return fetch(address, forOwnPages(options, clock.signalAfter(limits.signOutReportMs)));
    guard.check(address);
    const answer = await read(address);
    if (answer.status === 200) documents.keep(address, answer.text);
    else if (answer.status === undefined || answer.status >= 500) return lastDocument(address, documents, answer);
    return new Response(answer.text, { status: answer.status, headers: answer.headers });
  };
}

/** The library's dispatcher refuses this machine, where our pages are, and no factor multiplies its limit. */
const forOwnPages = (options: RequestInit, signal: AbortSignal) =>
  ({ ...options, dispatcher: undefined, signal }) as RequestInit;

type Answer =
  | { readonly status: number; readonly text: string; readonly headers: Record<string, string> }
  | { readonly status: undefined; readonly error: unknown };

interface Reading {
  readonly guard: GuardedAgent;
  readonly signal: AbortSignal;
}

async function readDocument(url: string, { guard, signal }: Reading): Promise<Answer> {
  try {
    const response = await fetchGuarded(url, {
      headers: { accept: 'application/json', 'user-agent': 'Countersign' },
      ...{ redirect: 'manual', dispatcher: guard.agent, signal },
    });
    const { status, headers } = response;
    if (status !== 200) {
      await response.body?.cancel();
      return { status, text: '', headers: {} };
    }
    if (!/^application\/([\w.-]+\+)?json\b/i.test(headers.get('content-type') ?? '')) throw new Error('it is not JSON');
    const text = await boundedText(response.body);
    return {
      status,
      text,
      headers: Object.fromEntries(['cache-control', 'expires'].map((name) => [name, headers.get(name) ?? ''])),
    };
  } catch (error) {
    return { status: undefined, error };
  }
}

async function boundedText(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error('it is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function lastDocument(url: string, documents: HostState['documents'], answer: Answer): Response {
  // Only a refresh needs no person, and follows what a person agreed to. The library then keeps the document for half a minute.
  const isRefresh = Provider.ctx?.oidc.route === 'token';
  const kept = isRefresh ? documents.find(url) : undefined;
  if (kept === undefined) {
    throw new Error('the document of the host could not be read', {
      cause: 'error' in answer ? answer.error : answer.status,
    });
  }
  return new Response(kept, { status: 200 });
}

/** Whether the id of a host is an address of a document that the issuer may fetch: of bounded length, with a path, not private. */
export function mayFetch(guard: GuardedAgent, clientId: string): boolean {
  if (clientId.length > LONGEST_ID || new URL(clientId).pathname === '/') return false;
  try {
    guard.check(clientId);
    return true;
  } catch {
    return false;
  }
}
