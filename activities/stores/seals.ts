import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  SEALED_COLUMNS,
  type CallSeals,
  type SealedColumn,
  type Seals,
} from '../../workflows/domain/gated-call/sealing.ts';
import { broken, createKeyRing, openText, sealText, type SealingKey } from './key-ring.ts';

export interface SealingOptions {
  /** The first one seals; the others open what was sealed before. */
  readonly keys: readonly SealingKey[];
  /** For keyed digests. It stays for ever: with another one, no digest would be found again. */
  readonly digestKey: string;
}

const DATA_KEY_BYTES = 32;
/** Calls whose data keys are kept in memory: a call is looked at several times within seconds. */
const REMEMBERED_CALLS = 500;
const REMEMBER_MS = 60_000;

/** One data key per call and purpose, wrapped by a key of the configuration. */
export function createSeals({ keys, digestKey }: SealingOptions): Seals {
  const ring = createKeyRing(keys);
  const unwrapped = new LRUCache<string, Uint8Array>({ max: 2 * REMEMBERED_CALLS, ttl: REMEMBER_MS });
  const calls = new LRUCache<string, CallSeals>({ max: REMEMBERED_CALLS, ttl: REMEMBER_MS });

  function unwrap(wrapped: string): Uint8Array {
    const known = unwrapped.get(wrapped) ?? ring.unwrap(wrapped);
    unwrapped.set(wrapped, known);
    return known;
  }
  /** A fresh data key. It is remembered: the first text is sealed at once. */
  function wrapNew(): string {
    const dataKey = randomBytes(DATA_KEY_BYTES);
    const wrapped = ring.wrap(dataKey);
    unwrapped.set(wrapped, dataKey);
    return wrapped;
  }
  const forCall: Seals['forCall'] = (gatedCallId, wrapped) => {
    const keyOf = (column: SealedColumn) => {
      const key = wrapped[SEALED_COLUMNS[column]];
      if (key === null) throw broken('its data key was destroyed when retention ended');
      return unwrap(key);
    };
    const place = (column: SealedColumn, generation: number) => ({ column, row: `${gatedCallId}/${generation}` });
    const seals: CallSeals = {
      seal: (column, text, generation = 1) => sealText(text, keyOf(column), place(column, generation)),
      open: (column, sealed, generation = 1) => openText(sealed, keyOf(column), place(column, generation)),
    };
    if (wrapped.call !== null && wrapped.record !== null) calls.set(gatedCallId, seals);
    return seals;
  };
  return {
    currentKeyId: ring.currentKeyId,
    earlierKeyIds: ring.earlierKeyIds,
    digest: (text) => `hmac-sha-256:${createHmac('sha256', digestKey).update(text).digest('hex')}`,
    forCall,
    recall: (gatedCallId) => calls.get(gatedCallId),
    forNewCall(gatedCallId) {
      const wrapped = { call: wrapNew(), record: wrapNew() };
      return { ...forCall(gatedCallId, wrapped), wrapped };
    },
    rewrap({ call, record }) {
      const again = (key: string | null) => key && ring.wrap(ring.unwrap(key));
      return { call: again(call), record: again(record) };
    },
  };
}
