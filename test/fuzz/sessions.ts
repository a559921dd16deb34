import fc from 'fast-check';
import { openWire } from '../support/session-wire.ts';

/** The ids of sessions that the gateway knows, each at the place of its caller in `Known.good`. */
export interface KnownSessions {
  readonly open: readonly string[];
  /** For requests that end a session, so that the others stay open. */
  readonly ending: readonly string[];
  readonly deleted: readonly string[];
}

/** The session that a request names. `none`: its message is of the present revision, or it has no session. */
const WHICH = ['none', 'own', 'of another caller', 'deleted', 'altered', 'cut', 'unknown'] as const;
export type SessionOf = (typeof WHICH)[number];

/** Mostly none: sessions are one way of two. */
export const sessionOf: fc.Arbitrary<SessionOf> = fc.oneof(
  { weight: 14, arbitrary: fc.constant('none' as const) },
  { weight: 5, arbitrary: fc.constant('own' as const) },
  { weight: 1, arbitrary: fc.constantFrom(...WHICH) },
);

/** In the first of these, a body may have several messages. */
const REVISIONS = ['2025-03-26', '2025-11-25'];
const capabilities = { elicitation: {}, sampling: {}, roots: {} };

/** Begins the sessions of each of these callers. */
export async function openSessions(mcpUrl: string, good: readonly string[]): Promise<KnownSessions> {
  const begin = async (authorization: string, place: number): Promise<string> => {
    const protocolVersion = REVISIONS[place % REVISIONS.length];
    const params = { protocolVersion, capabilities, clientInfo: { name: 'fuzz', version: '0' } };
    const body = { jsonrpc: '2.0', id: 'begin', method: 'initialize', params };
    const opened = await openWire({ mcpUrl }, { body, headers: { authorization } });
    await opened.ended;
    const id = opened.headers['mcp-session-id'];
    if (typeof id !== 'string') throw new Error(`no session: ${opened.status} ${opened.text()}`);
    return id;
  };
  const all = async () => Promise.all(good.map(begin));
  const sessions = { open: await all(), ending: await all(), deleted: await all() };
  for (const [place, id] of sessions.deleted.entries()) {
    const headers = { authorization: good[place] ?? '', 'mcp-session-id': id };
    await (
      await openWire({ mcpUrl }, { method: 'DELETE', headers })
    ).ended;
  }
  return sessions;
}

/** The id that a request of the caller at this place names; `undefined` for none. */
export function sessionIdFor(
  which: SessionOf,
  { sessions, place, ends }: { readonly sessions: KnownSessions; readonly place: number; readonly ends: boolean },
): string | undefined {
  const { open, ending, deleted } = sessions;
  const own = (ends ? ending : open)[place] ?? '';
  switch (which) {
    case 'none':
      return undefined;
    case 'own':
      return own;
    case 'of another caller':
      return open[(place + 1) % open.length];
    case 'deleted':
      return deleted[place];
    case 'altered':
      return `${own.slice(0, -9)}${own.at(-9) === 'A' ? 'B' : 'A'}${own.slice(-8)}`;
    case 'cut':
      return own.slice(0, -1);
    case 'unknown':
      return '00000000-0000-4000-8000-000000000000';
  }
}
