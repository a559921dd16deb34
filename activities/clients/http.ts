import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, type Dispatcher, interceptors, request } from 'undici';
import type { Clock } from '../../apps/shared/clock.ts';
import { traceHeaders } from '../../apps/shared/log-scope.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';

/** Larger answers than this are not what we asked for. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** One pool of connections for the services beside us. No redirects: a credential goes where it was sent and nowhere else. */
const agent = new Agent({ maxResponseSize: MAX_ANSWER_BYTES });

/** In milliseconds. For how long a document is kept whose server says nothing of it, and at most. */
const KEPT_MS = 300_000;

/**
 * Connections that keep what they fetched for as long as HTTP caching lets them. A request for such a document says itself
 * how old an answer may be, so that nothing is kept for longer than five minutes, even if its server allows that.
 */
export function cachingHttp(via: Dispatcher = agent): Dispatcher {
  return via.compose(interceptors.cache({ methods: ['GET'], type: 'private', cacheByDefault: KEPT_MS }));
}
export const KEPT_DOCUMENT = { 'cache-control': `max-age=${KEPT_MS / 1_000}` } as const;

/**
 * A limit is waited for in so many steps. A process that stood still loses one of them only, since the service
 * may have answered meanwhile.
 */
const STEPS = 4;

export interface HttpAnswer {
  readonly status: number;
  /** Header values by lower-case name; the first one where a header came several times. */
  header(name: string): string | undefined;
  readonly text: string;
}

/**
 * Sends one request and reads the whole answer. Rejects when there is none within the limit, of which time that this process
 * stood still counts a fourth at most; when it is too large, and when the connection breaks. Never repeats, never follows.
 */
export async function sendHttp(
  url: string,
  init: {
    method: 'GET' | 'POST';
    headers: Record<string, string>;
    body?: string;
    timeoutMs: number;
    clock: Clock;
    /** Default: the pool of connections of everybody. */
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

/** How a service is shown who we are. */
export interface CredentialSettings {
  /** Header that has the token: `authorization` with the scheme Bearer, any other with the token alone, as API keys go. */
  readonly credentialHeader: string;
  /** PEM files of a client certificate, its key and, where the service's own is private, who issues that. Read at the start. */
  readonly clientCertificate?:
    { readonly certificate: string; readonly key: string; readonly ca?: string | undefined } | undefined;
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

/** Connections that show this certificate; undefined where there is none. Throws `ERR_CONFIG_INVALID` when a file cannot be read. */
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

/** Whether an address may be contacted: what documents and denials name is fetched from nowhere else. */
export type IsTrusted = (url: string) => boolean;

/** Which addresses may be contacted, by what is sent there: no service gets the credential of the other. */
export interface Trust {
  /** Evaluation requests, with the credential for the PDP. */
  readonly pdp: IsTrusted;
  /** Access requests, with the credential for their service. */
  readonly accessRequests: IsTrusted;
  /** Requests for a document that says how an access request is filled in. They carry no credential. */
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
