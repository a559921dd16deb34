import { hostname } from 'node:os';
import type { Config } from '../../shared/config/config.ts';
import { sha256 } from '../../shared/crypto.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import type { SealedContent, SealedStates } from '../extensions/sealed-state.ts';

/** What the client declared when its session began. */
export type DeclaredSession = Omit<Extract<SealedContent, { kind: 'session' }>, 'kind'>;

/** Differs from the scope of every round, which is a digest, and of every task. */
const scopeOf = (caller: Principal) => ({ caller, about: 'a session' });
const LIFETIME_SECONDS = 30 * 24 * 60 * 60;
const NAME_LENGTH = 12;
/** No id of ours is longer: names are bounded, and capabilities are a fixed set. */
const MAX_ID_LENGTH = 4_096;

/**
 * The name of this instance in the ids of its sessions. The default is the same after a restart and another one on another host, and says
 * nothing about the host.
 */
export const instanceName = ({ gateway: { sessions, port } }: Pick<Config, 'gateway'>): string =>
  sessions.instance ?? sha256(`${hostname()}:${port}`).slice(0, NAME_LENGTH);

/** An id that holds what the client declared. It opens for the same caller only, and in an instance of the same name only. */
export async function sealSession(
  seals: SealedStates,
  instance: string,
  caller: Principal,
  declared: DeclaredSession,
): Promise<string> {
  const sealed = await seals.seal({ kind: 'session', ...declared }, scopeOf(caller), LIFETIME_SECONDS);
  return `${instance}.${sealed}`;
}

/** The name of the instance that issued an id, for logs. `undefined` for a text that is no id. */
export const instanceIn = (id: string): string | undefined =>
  id.length <= MAX_ID_LENGTH ? /^([A-Za-z0-9_-]{1,64})\./.exec(id)?.[1] : undefined;

/** What was declared. `undefined` for an id of another caller, an altered one, one that is too old, and any other text. */
export async function openSession(
  seals: SealedStates,
  caller: Principal,
  id: string,
): Promise<DeclaredSession | undefined> {
  const instance = instanceIn(id);
  if (instance === undefined) return undefined;
  const opened = await seals.open(id.slice(instance.length + 1), scopeOf(caller));
  if (opened?.kind !== 'session') return undefined;
  const { kind: _kind, nonce: _nonce, expiresAt: _expiresAt, ...declared } = opened;
  return declared;
}

/**
 * The ids that clients have deleted. Only the newest are kept: an older one, or one from before a restart, opens again, and only for its own
 * caller.
 */
export function createTombstones(max: number) {
  const deleted = new Set<string>();
  return {
    add(id: string): void {
      deleted.add(sha256(id));
      for (const oldest of deleted) {
        if (deleted.size <= max) break;
        deleted.delete(oldest);
      }
    },
    has: (id: string): boolean => deleted.size > 0 && deleted.has(sha256(id)),
  };
}
