import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import CachePolicy from 'http-cache-semantics';
import { Agent, type Dispatcher, request } from 'undici';
import type { Clock } from '../../apps/shared/clock.ts';
import { traceHeaders } from '../../apps/shared/log-scope.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { jsonOf } from '../../workflows/domain/faithful-json.ts';

/** No service beside us has a reason for a larger answer. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** One pool of connections for the services beside us. No redirects: a credential goes where it was sent and nowhere else. */
const agent = new Agent({ maxResponseSize: MAX_ANSWER_BYTES });

/**
 * The wait for a limit has so many steps. A process that stood still loses one of them only, since the service may have answered
 * meanwhile.
 */
const STEPS = 4;

export interface HttpAnswer {
  readonly status: number;
  /** Header values by lower-case name; the first one where a header came several times. */
  header(name: string): string | undefined;
  readonly text: string;
}

/** The JSON of an answer. Throws where it is not JSON, or its `Content-Type` is not. */
export const jsonIn = (answer: HttpAnswer): unknown =>
  jsonOf({ type: answer.header('content-type'), text: answer.text });

/** The same; undefined where `jsonIn` throws. */
export function readJson(answer: HttpAnswer): unknown {
  try {
    return jsonIn(answer);
  } catch {
    return undefined;
  }
}

/**
 * Sends one request and reads the whole answer. Rejects when there is none within the limit, when it is too large, and when the
 * connection breaks. Time in which this process stood still counts for a fourth of the limit at most. Never repeats, and never
 * follows a redirect.
 */
export async function sendHttp(
  url: string,
  init: {
    method: 'GET' | 'POST';
    headers: Record<string, string>;
    body?: string;
    timeoutMs: number;
    clock: Clock;
    /** Default: the shared pool of connections. */
    via?: Dispatcher | undefined;
  },
): Promise<HttpAnswer> {
  const { timeoutMs, clock, body, headers: given, via = agent, ...rest } = init;
  // An emitter does for a signal, and costs a fraction of one.
  const signal = new EventEmitter();
  let left = STEPS;
  const letGo = clock.every(timeoutMs / STEPS, () => (left -= 1) === 0 && signal.emit('abort'));
  try {
    const { headers, statusCode, ...answer } = await request(url, {
      ...rest,
      headers: { ...traceHeaders(), ...given },
      body: body ?? null,
      signal,
      dispatcher: via,
    });
    return {
      status: statusCode,
      header(name) {
        const value = headers[name];
        return Array.isArray(value) ? value[0] : value;
      },
      text: await answer.body.text(),
    };
  } finally {
    letGo();
  }
}

/** In milliseconds. A document is kept for so long at most, and also when its server states no time. */
const KEPT_MS = 300_000;
const CACHING_HEADERS = ['age', 'cache-control', 'date', 'expires', 'pragma', 'vary'] as const;

/**
 * Keeps the answer to a GET request for as long as HTTP caching lets a private cache keep it, but not longer than five minutes. Answers
 * the same object until it fetches anew. Rejects as `fetch` does, and then keeps nothing.
 *
 * @see RFC 9111
 */
export function createKeptDocument(url: string, fetch: () => Promise<HttpAnswer>, clock: Clock) {
  let kept: { readonly answer: HttpAnswer; readonly until: number } | undefined;
  return async (): Promise<HttpAnswer> => {
    const asked = clock.monotonicMs();
    if (kept !== undefined && asked < kept.until) return kept.answer;
    kept = undefined;
    const answer = await fetch();
    kept = { answer, until: asked + freshMs(url, answer) };
    return answer;
  };
}

function freshMs(url: string, answer: HttpAnswer): number {
  const stated = CACHING_HEADERS.map((name) => [name, answer.header(name)] as const);
  const headers = Object.fromEntries(stated.filter(([, value]) => value !== undefined));
  const policy = new CachePolicy(
    { method: 'GET', url, headers: {} },
    { status: answer.status, headers },
    { shared: false },
  );
  if (!policy.storable()) return 0;
  const saysHowLong = ['cache-control', 'expires', 'pragma'].some((name) => headers[name] !== undefined);
  return saysHowLong ? Math.min(KEPT_MS, (policy.maxAge() - policy.age()) * 1_000) : KEPT_MS;
}

/** How a service recognizes us. */
export interface CredentialSettings {
  /** Header that has the token: `authorization` with the scheme Bearer, any other with the token alone, like an API key. */
  readonly credentialHeader: string;
  /** PEM files of a client certificate, its key and, for a private service certificate, its issuer. Read at the start. */
  readonly clientCertificate?:
    | { readonly certificate: string; readonly key: string; readonly ca?: string | undefined }
    | undefined;
}

export interface Credential {
  readonly headers: Readonly<Record<string, string>>;
  /** Connections with the client certificate; undefined where there is none. */
  readonly via: Dispatcher | undefined;
}

/** Throws `ERR_CONFIG_INVALID` when a file of the client certificate cannot be read. */
export function createCredential(
  token: string,
  { credentialHeader: header, clientCertificate }: CredentialSettings,
): Credential {
  return {
    headers: { [header]: header.toLowerCase() === 'authorization' ? `Bearer ${token}` : token },
    via: createConnections(clientCertificate),
  };
}

/** Connections with this client certificate; undefined where there is none. Throws `ERR_CONFIG_INVALID` when a file cannot be read. */
export function createConnections(files: CredentialSettings['clientCertificate']): Dispatcher | undefined {
  if (files === undefined) return undefined;
  const { certificate, key, ca } = files;
  const connect = { cert: read(certificate), key: read(key), ...(ca !== undefined && { ca: read(ca) }) };
  return new Agent({ maxResponseSize: MAX_ANSWER_BYTES, connect });
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const message = `the client certificate cannot be read: there is no readable file ${file}. Mend clientCertificate.`;
    throw new CountersignError('ERR_CONFIG_INVALID', message, { cause });
  }
}

/** Whether an address may be contacted. Documents and denials may name any address. */
export type IsTrusted = (url: string) => boolean;

/** Which addresses may be contacted, by the kind of request: no service gets the credential of the other. */
export interface Trust {
  /** Evaluation requests, with the credential for the PDP. */
  readonly pdp: IsTrusted;
  /** Access requests, with the credential for their service. */
  readonly accessRequests: IsTrusted;
  /** Requests for the documents of the form of an access request. They carry no credential. */
  readonly documents: IsTrusted;
}

/** @param known Addresses on the origins of each service. */
export function trustOf(known: { readonly pdp: readonly string[]; readonly accessRequests: readonly string[] }): Trust {
  const [pdp, accessRequests] = [trustedOrigins(known.pdp), trustedOrigins(known.accessRequests)];
  return { pdp, accessRequests, documents: (url) => pdp(url) || accessRequests(url) };
}

/**
 * Trusts the origins (scheme, host and port) of these addresses and no others, so that a credential and a call go only where
 * the configuration says. @see ARAP-SEC-02 (PRJ-24)
 */
export function trustedOrigins(known: readonly string[]): IsTrusted {
  const origins = new Set(known.map((url) => new URL(url).origin));
  return (url) => URL.canParse(url) && origins.has(new URL(url).origin);
}
