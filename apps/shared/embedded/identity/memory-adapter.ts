import { LRUCache } from 'lru-cache';
import { type Adapter, type AdapterFactory, type AdapterPayload, errors } from 'oidc-provider';
import { systemClock } from '../../clock.ts';
import { isHost } from './hosts.ts';
import type { HostState } from './host-state.ts';

const HOUR_MS = 3_600_000;
/** Sign-ins under way: every request without a session begins one. */
const MAX_INTERACTIONS = 2_000;
const MAX_OTHERS = 20_000;

/**
 * Stores sign-ins under way, codes and sessions in memory, and what belongs to hosts in `state`. After a restart, people sign in to the
 * pages again, and hosts stay signed in. Access tokens are not stored, so they stay valid. When a store is full, the entry that was used
 * least recently is dropped.
 *
 * @param personOf The client of a person: asked at each request, so that people can change.
 */
export function createAdapter(state: HostState, personOf: (id: string) => AdapterPayload | undefined): AdapterFactory {
  const memory = createMemoryAdapter();
  return (model) => {
    if (model === 'Client') return clientAdapter({ ...state, personOf }, memory(model));
    if (model === 'Grant') return grantAdapter(state, memory(model));
    if (model === 'RefreshToken') return refreshTokenAdapter(state, memory(model));
    if (model === 'AuthorizationCode') return codeAdapter(state, memory(model));
    return memory(model);
  };
}

function clientAdapter(
  { clients, personOf }: HostState & { personOf: (id: string) => AdapterPayload | undefined },
  others: Adapter,
): Adapter {
  return {
    ...others,
    upsert: async (id, payload) => clients.add(id, payload),
    find: async (id) => personOf(id) ?? clients.find(id),
    destroy: async (id) => clients.remove(id),
  };
}

function grantAdapter({ grants }: HostState, others: Adapter): Adapter {
  return {
    ...others,
    upsert: async (id, payload, expiresIn) =>
      isHost(payload.clientId) ? grants.put(id, payload) : others.upsert(id, payload, expiresIn),
    find: async (id) => grants.find(id) ?? others.find(id),
    async destroy(id) {
      if (grants.find(id) === undefined) return others.destroy(id);
      grants.revoke(id);
    },
  };
}

/**
 * A refresh token is used up once, also by requests at the same moment: the second one ends the sign-in, as a used token does.
 * @see RFC 9700, section 4.14.2
 */
function refreshTokenAdapter({ refreshTokens, grants }: HostState, others: Adapter): Adapter {
  return {
    ...others,
    async upsert(id, payload, expiresIn) {
      if (!isHost(payload.clientId)) return others.upsert(id, payload, expiresIn);
      if (!refreshTokens.put(id, payload)) throw new errors.InvalidGrant('the sign-in has ended');
    },
    find: async (id) => refreshTokens.find(id) ?? others.find(id),
    async consume(id) {
      const found = refreshTokens.find(id);
      if (found === undefined) return others.consume(id);
      if (refreshTokens.consume(id, nowSeconds())) return;
      grants.revoke(found.grantId ?? '');
      throw new errors.InvalidGrant('refresh token already used');
    },
    async destroy(id) {
      if (refreshTokens.find(id) === undefined) return others.destroy(id);
      refreshTokens.remove(id);
    },
    async revokeByGrantId(grantId) {
      grants.revoke(grantId);
      await others.revokeByGrantId(grantId);
    },
  };
}

/** A code is used once, also by requests at the same moment: the second one ends the sign-in. @see RFC 9700, section 4.5 */
function codeAdapter({ grants }: HostState, codes: Adapter): Adapter {
  return {
    ...codes,
    async consume(id) {
      const found = await codes.find(id);
      if (found === undefined || found.consumed === undefined) return codes.consume(id);
      if (found.grantId !== undefined) grants.revoke(found.grantId);
      throw new errors.InvalidGrant('authorization code already consumed');
    },
  };
}

const nowSeconds = () => Math.floor(systemClock.now() / 1_000);

/** Stores everything in this process, bounded in number. */
export function createMemoryAdapter(): (model: string) => Adapter {
  const bounded = (max: number) => new LRUCache<string, AdapterPayload>({ max, ttl: HOUR_MS, ttlAutopurge: true });
  const [interactions, rest] = [bounded(MAX_INTERACTIONS), bounded(MAX_OTHERS)];
  return (model) => {
    const stored = model === 'Interaction' ? interactions : rest;
    const findBy = (matches: (payload: AdapterPayload) => boolean) =>
      stored.find((payload, key) => key.startsWith(`${model}:`) && matches(payload));
    return {
      async upsert(id, payload, expiresIn = Infinity) {
        // The cache keeps an entry for ever with 0, not with a time that is over.
        const ttl = expiresIn === Infinity ? 0 : Math.max(1, expiresIn * 1_000);
        stored.set(`${model}:${id}`, payload, { ttl });
      },
      find: async (id) => stored.get(`${model}:${id}`),
      findByUid: async (uid) => findBy((payload) => payload.uid === uid),
      findByUserCode: async (userCode) => findBy((payload) => payload.userCode === userCode),
      async consume(id) {
        const payload = stored.get(`${model}:${id}`);
        if (payload !== undefined) payload.consumed = nowSeconds();
      },
      async destroy(id) {
        stored.delete(`${model}:${id}`);
      },
      async revokeByGrantId(grantId) {
        for (const [key, payload] of [...stored.entries()]) if (payload.grantId === grantId) stored.delete(key);
      },
    };
  };
}
