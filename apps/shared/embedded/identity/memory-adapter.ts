import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';
import { systemClock } from '../../clock.ts';

interface Entry {
  readonly payload: AdapterPayload;
  readonly expiresAt: number;
}

/**
 * Keeps what the identity provider needs for minutes: sign-ins under way, codes, browser sessions. A restart forgets
 * them, and people sign in again; access tokens are not kept here, so they stay good.
 */
export function createMemoryAdapter(): AdapterFactory {
  const entries = new Map<string, Entry>();
  const find = (key: string) => {
    const entry = entries.get(key);
    if (entry !== undefined && entry.expiresAt > systemClock.now()) return entry.payload;
    entries.delete(key);
    return undefined;
  };
  const findBy = (model: string, matches: (payload: AdapterPayload) => boolean) => {
    for (const [key, { payload }] of entries) if (key.startsWith(`${model}:`) && matches(payload)) return find(key);
    return undefined;
  };
  const removeAll = (isOver: (entry: Entry) => boolean) => {
    for (const [key, entry] of entries) if (isOver(entry)) entries.delete(key);
  };
  return (model): Adapter => ({
    async upsert(id, payload, expiresIn) {
      removeAll((entry) => entry.expiresAt <= systemClock.now());
      const expiresAt = expiresIn === undefined ? Infinity : systemClock.now() + expiresIn * 1_000;
      entries.set(`${model}:${id}`, { payload, expiresAt });
    },
    find: async (id) => find(`${model}:${id}`),
    findByUid: async (uid) => findBy(model, (payload) => payload.uid === uid),
    findByUserCode: async (userCode) => findBy(model, (payload) => payload.userCode === userCode),
    async consume(id) {
      const payload = find(`${model}:${id}`);
      if (payload !== undefined) payload.consumed = Math.floor(systemClock.now() / 1_000);
    },
    async destroy(id) {
      entries.delete(`${model}:${id}`);
    },
    async revokeByGrantId(grantId) {
      removeAll(({ payload }) => payload.grantId === grantId);
    },
  });
}
