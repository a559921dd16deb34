import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  SEALED_COLUMNS,
  type CallSeals,
  type RecordSeals,
  type SealedColumn,
  type Seals,
} from '../../workflows/domain/gated-call/sealing.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { broken, createKeyRing, seal, type SealingKey, unseal } from './key-ring.ts';

/** The keys of the enforcement side. Both lists have keys of the same names in the same order, and no key is in both. */
export interface SealingSecrets extends RecordSealingSecrets {
  /** Wrap the data keys of calls. The first one seals; the others open what was sealed before. */
  readonly sealingKeys: readonly SealingKey[];
}

/** The keys of the audit side, which open only what auditors may read. */
export interface RecordSealingSecrets {
  /** Wrap the data keys of records. The first one seals; the others open what was sealed before. */
  readonly recordSealingKeys: readonly SealingKey[];
  /** For keyed digests. It never changes: with another one, no digest would be found again. */
  readonly digestKey: string;
}

const DATA_KEY_BYTES = 32;
/** Calls whose data keys are kept in memory: a call is looked at several times within seconds. */
const REMEMBERED_CALLS = 500;
const REMEMBER_MS = 60_000;

/**
 * One data key per call and purpose, wrapped by a key of the configuration for that purpose. Throws `ERR_CONFIG_INVALID` for lists
 * of keys that do not belong together.
 */
export function createSeals({ sealingKeys, recordSealingKeys, digestKey }: SealingSecrets): Seals {
  checkPairs(sealingKeys, recordSealingKeys);
  const rings = { call: createKeyRing(sealingKeys), record: createKeyRing(recordSealingKeys) };
  const unwrapped = new LRUCache<string, Uint8Array>({ max: 2 * REMEMBERED_CALLS, ttl: REMEMBER_MS });
  const calls = new LRUCache<string, CallSeals>({ max: REMEMBERED_CALLS, ttl: REMEMBER_MS });

  function unwrap(purpose: Purpose, wrapped: string): Uint8Array {
    const known = unwrapped.get(wrapped) ?? rings[purpose].unwrap(wrapped);
    unwrapped.set(wrapped, known);
    return known;
  }
  /** A fresh data key. It is remembered: the first text is sealed at once. */
  function wrapNew(purpose: Purpose): string {
    const dataKey = randomBytes(DATA_KEY_BYTES);
    const wrapped = rings[purpose].wrap(dataKey);
    unwrapped.set(wrapped, dataKey);
    return wrapped;
  }
  const forCall: Seals['forCall'] = (gatedCallId, wrapped) => {
    const keyOf = (column: SealedColumn) => {
      const purpose = SEALED_COLUMNS[column];
      const key = wrapped[purpose];
      if (key === null) throw broken('its data key was destroyed when retention ended');
      return unwrap(purpose, key);
    };
    const place = placeIn(gatedCallId);
    const seals: CallSeals = {
      seal: (column, text, generation = 1) => seal(keyOf(column), place(column, generation), Buffer.from(text)),
      open: (column, sealed, generation = 1) => unseal(keyOf(column), place(column, generation), sealed).toString(),
    };
    if (wrapped.call !== null && wrapped.record !== null) calls.set(gatedCallId, seals);
    return seals;
  };
  return {
    currentKeyId: rings.call.currentKeyId,
    earlierKeyIds: rings.call.earlierKeyIds,
    digest: keyedDigest(digestKey),
    forCall,
    recall: (gatedCallId) => calls.get(gatedCallId),
    forNewCall(gatedCallId) {
      const wrapped = { call: wrapNew('call'), record: wrapNew('record') };
      return { ...forCall(gatedCallId, wrapped), wrapped };
    },
    rewrap({ call, record }) {
      const again = (purpose: Purpose, key: string | null) => key && rings[purpose].wrap(rings[purpose].unwrap(key));
      return { call: again('call', call), record: again('record', record) };
    },
  };
}

/** The seals of a process that reads records and holds no key of calls: a breach of it opens no arguments and no result. */
export function createRecordSeals({ recordSealingKeys, digestKey }: RecordSealingSecrets): RecordSeals {
  const ring = createKeyRing(recordSealingKeys);
  return {
    digest: keyedDigest(digestKey),
    ofRecord: (gatedCallId, recordKey) => ({
      open(column, sealed, generation = 1) {
        if (SEALED_COLUMNS[column] !== 'record') throw broken('no key of records opens it');
        return unseal(ring.unwrap(recordKey), placeIn(gatedCallId)(column, generation), sealed).toString();
      },
    }),
  };
}

type Purpose = 'call' | 'record';

const placeIn = (gatedCallId: string) => (column: SealedColumn, generation: number) =>
  [column, `${gatedCallId}/${generation}`] as const;

const keyedDigest = (digestKey: string) => (text: string) =>
  `hmac-sha-256:${createHmac('sha256', digestKey).update(text).digest('hex')}`;

/** A data key of a call and one of its record move together, so their keys do. A key in both lists would open calls for auditors. */
function checkPairs(calls: readonly SealingKey[], records: readonly SealingKey[]): void {
  const names = (keys: readonly SealingKey[]) => JSON.stringify(keys.map(({ kid }) => kid));
  if (names(calls) !== names(records)) {
    throw new CountersignError(
      'ERR_CONFIG_INVALID',
      'COUNTERSIGN_SEALING_KEYS and COUNTERSIGN_RECORD_SEALING_KEYS do not name the same keys in the same order. ' +
        'Give both lists a key for each kid',
    );
  }
  const secret = new Set(calls.map(({ k }) => k));
  if (!records.some(({ k }) => secret.has(k))) return;
  throw new CountersignError(
    'ERR_CONFIG_INVALID',
    'a key is in COUNTERSIGN_SEALING_KEYS and in COUNTERSIGN_RECORD_SEALING_KEYS. Draw each of them by itself: the audit process has the second list',
  );
}
