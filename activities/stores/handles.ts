import { canonicalJson } from '../../workflows/domain/canonical-json.ts';
import type { Seals } from '../../workflows/domain/gated-call/sealing.ts';

/**
 * What the owner of a gated call knows it by. Each handle is derived from the one before with the digest key: the id of the
 * call, its request reference, its task id. So a reference leads to its call without being stored, and nobody who has one
 * handle can make another of it.
 */
export const requestRefOf = (gatedCallId: string, seals: Pick<Seals, 'digest'>) =>
  `req_${derived(seals, ['request', gatedCallId])}`;

/** Of any text: one that is no reference leads to a task that does not exist. */
export const taskIdOf = (requestRef: string, seals: Pick<Seals, 'digest'>) =>
  `tsk_${derived(seals, ['task', requestRef])}`;

const HEX_DIGITS_OF_128_BITS = 32;

const derived = (seals: Pick<Seals, 'digest'>, parts: readonly string[]) =>
  seals.digest(canonicalJson(parts)).slice(-HEX_DIGITS_OF_128_BITS);
