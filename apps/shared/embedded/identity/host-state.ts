import { LRUCache } from 'lru-cache';
import type { AdapterPayload } from 'oidc-provider';
import type { Logger } from 'pino';
import type { Clock } from '../../clock.ts';
import { sha256 } from '../../crypto.ts';
import type { Agreement } from './agreement.ts';
import { type HostContent, readHosts, writeHosts } from './host-file.ts';

const HOUR_MS = 3_600_000;
/** How long a registration with which no person has signed in is kept. */
const UNUSED_MS = 24 * HOUR_MS;
/** How long a registration is kept after the last sign-in with it ended. */
const FORGOTTEN_MS = 90 * 24 * HOUR_MS;
/** How long a document stands in for one that cannot be read. */
const DOCUMENT_MS = 30 * 24 * HOUR_MS;
const MAX_DOCUMENTS = 200;
/** Used refresh tokens that are kept for each sign-in. The reuse of one of these ends the sign-in; older ones are merely unknown. */
const KEPT_USED = 100;

export interface HostStateSettings {
  /** Absolute path. */
  readonly file: string;
  readonly maxRegistrations: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
}

export type HostState = ReturnType<typeof openHostState>;

/**
 * What the issuer keeps of hosts over a restart, in a file that only its owner can read: registrations, grants, refresh tokens, and what
 * people agreed to. Every change is in the file before its caller goes on. One process uses the file at a time.
 */
export function openHostState({ file, maxRegistrations, clock, log }: HostStateSettings) {
  const content = readHosts(file, log);
  const documents = new LRUCache<string, HostContent['documents'][string]>({ max: MAX_DOCUMENTS });
  for (const [url, document] of Object.entries(content.documents)) documents.set(url, document);
  const save = () => {
    const used = new Set(Object.values(content.grants).map(({ payload }) => payload.clientId));
    content.documents = Object.fromEntries([...documents.entries()].filter(([url]) => used.has(url)));
    writeHosts(file, content);
  };
  return {
    clients: registrationsIn(content, { save, maxRegistrations, clock }),
    grants: grantsIn(content, { save, clock }),
    refreshTokens: refreshTokensIn(content, save),
    documents: {
      keep: (url: string, text: string) => void documents.set(url, { text, fetchedAt: clock.now() }),
      find(url: string): string | undefined {
        const kept = documents.get(url);
        return kept !== undefined && clock.now() - kept.fetchedAt < DOCUMENT_MS ? kept.text : undefined;
      },
    },
    /** Forgets what is over: expired grants and tokens, and registrations without use. */
    clean(): void {
      const before = JSON.stringify(content);
      forgetExpired(content, clock.now() / 1_000);
      forgetUnused(content, clock.now());
      if (JSON.stringify(content) !== before) save();
    },
  };
}

interface Part {
  readonly save: () => void;
  readonly clock: Pick<Clock, 'now'>;
}

const clientsWithGrant = ({ grants }: HostContent) =>
  new Set(Object.values(grants).map(({ payload }) => payload.clientId));

function registrationsIn(content: HostContent, part: Part & Pick<HostStateSettings, 'maxRegistrations'>) {
  const { save, clock, maxRegistrations } = part;
  const unused = () => {
    const used = clientsWithGrant(content);
    const ids = Object.keys(content.clients).filter((id) => !used.has(id));
    return ids.sort((a, b) => (content.clients[a]?.registeredAt ?? 0) - (content.clients[b]?.registeredAt ?? 0));
  };
  return {
    find: (id: string) => content.clients[id]?.metadata,
    /** Milliseconds since 1970. */
    registeredAt: (id: string) => content.clients[id]?.registeredAt,
    /** Whether one more is possible: there is room, or a registration that gives way. */
    hasRoom: () => Object.keys(content.clients).length < maxRegistrations || unused().length > 0,
    add(id: string, metadata: AdapterPayload): void {
      const [oldest] = unused();
      if (Object.keys(content.clients).length >= maxRegistrations && oldest !== undefined)
        delete content.clients[oldest];
      content.clients[id] = { metadata, registeredAt: clock.now() };
      save();
    },
    /** Notes that a token was issued for this host. The note is written with the next change. */
    touch(id: string): void {
      const found = content.clients[id];
      if (found !== undefined) found.usedAt = clock.now();
    },
    remove(id: string): void {
      delete content.clients[id];
      save();
    },
  };
}

function grantsIn(content: HostContent, { save }: Part) {
  const { grants, refreshTokens } = content;
  return {
    find: (id: string) => grants[id]?.payload as AdapterPayload | undefined,
    agreement: (id: string): Agreement | undefined => grants[id]?.agreement,
    put(id: string, payload: AdapterPayload): void {
      grants[id] = { ...grants[id], payload: payload as HostContent['grants'][string]['payload'] };
      save();
    },
    /** Records what the person agreed to. Until then, the grant gives no token. */
    agree(id: string, agreement: Agreement): void {
      const grant = grants[id];
      if (grant === undefined) throw new Error('there is no grant for this agreement');
      grant.agreement = { ...agreement, scopes: [...agreement.scopes] };
      save();
    },
    /** Ends a sign-in with all its tokens. */
    revoke(id: string): void {
      if (grants[id] === undefined) return;
      delete grants[id];
      for (const [digest, token] of Object.entries(refreshTokens))
        if (token.grantId === id) delete refreshTokens[digest];
      save();
    },
  };
}

function refreshTokensIn({ grants, refreshTokens }: HostContent, save: () => void) {
  const forgetOldest = (grantId: string) => {
    const used = Object.entries(refreshTokens).filter(([, token]) => token.grantId === grantId && 'consumed' in token);
    for (const [digest] of used.slice(0, -KEPT_USED)) delete refreshTokens[digest];
  };
  return {
    find(id: string): AdapterPayload | undefined {
      const found = refreshTokens[sha256(id)];
      return found && { ...found, jti: id };
    },
    /** False if the sign-in of the token has ended meanwhile: then the token must not be given out. */
    put(id: string, { jti: _id, ...payload }: AdapterPayload): boolean {
      if (payload.grantId === undefined || grants[payload.grantId] === undefined) return false;
      refreshTokens[sha256(id)] = payload as HostContent['refreshTokens'][string];
      forgetOldest(payload.grantId);
      save();
      return true;
    },
    /** Uses a token up. False if it was used up before, or has gone. */
    consume(id: string, atSeconds: number): boolean {
      const found = refreshTokens[sha256(id)];
      if (found === undefined || 'consumed' in found) return false;
      found['consumed'] = atSeconds;
      save();
      return true;
    },
    remove(id: string): void {
      delete refreshTokens[sha256(id)];
      save();
    },
  };
}

function forgetExpired({ grants, refreshTokens }: HostContent, nowSeconds: number): void {
  for (const [id, { payload, agreement }] of Object.entries(grants)) {
    if (payload.exp <= nowSeconds || agreement === undefined) delete grants[id];
  }
  for (const [digest, { grantId, exp }] of Object.entries(refreshTokens)) {
    if (exp <= nowSeconds || grants[grantId] === undefined) delete refreshTokens[digest];
  }
}

function forgetUnused(content: HostContent, now: number): void {
  const used = clientsWithGrant(content);
  for (const [id, { registeredAt, usedAt }] of Object.entries(content.clients)) {
    const isOver = usedAt === undefined ? now - registeredAt >= UNUSED_MS : now - usedAt >= FORGOTTEN_MS;
    if (isOver && !used.has(id)) delete content.clients[id];
  }
}
