import { objectOf, type Json, type JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import type { Asked } from '../../wire/request-context.ts';
import type { UpstreamRound } from '../../../../workflows/domain/relay.ts';
import { type SealedStates, type StateScope, sealRound } from '../sealed-state.ts';
import { MISSING_CAPABILITY } from '../../wire/identifiers.ts';
import { relayedCapabilities, undeclared, undeclaredIn } from '../../wire/request-context.ts';

/** What an upstream asks, as its client gets it. */
export interface RelayedRound extends Omit<UpstreamRound, 'kind' | 'requestState'> {
  readonly kind: 'relayed_round';
  /** Ours: it holds the upstream's. */
  readonly requestState: string;
}

/** What only a client can be told that declares more. */
export interface Undeclared {
  readonly kind: 'undeclared';
  readonly requiredCapabilities: JsonObject;
}

/** Hands a round of an upstream on, to a client that declared what it needs. */
export async function handOnRound(
  sealedStates: SealedStates,
  scope: StateScope,
  { capabilities = {} }: Pick<Asked, 'capabilities'>,
  { kind: _kind, requestState: state, ...round }: UpstreamRound,
): Promise<RelayedRound | Undeclared> {
  const missing = undeclaredIn(round.inputRequests, capabilities);
  if (missing !== undefined) return { kind: 'undeclared', requiredCapabilities: missing };
  const held = { kind: 'relayed_round', ...(state !== undefined && { state }) } as const;
  return { kind: 'relayed_round', ...round, requestState: await sealRound(sealedStates, scope, held) };
}

/**
 * An upstream's error, or what the client would have to declare instead of it. Only what is handed on at all counts: a client
 * that declares something else would get the same error again.
 */
export function orUndeclared<T extends { readonly code: number; readonly data?: Json }>(
  error: T,
  { capabilities }: Pick<Asked, 'capabilities'>,
): T | Undeclared {
  if (error.code !== MISSING_CAPABILITY || capabilities === undefined) return error;
  const missing = undeclared(relayedCapabilities(objectOf(error.data)['requiredCapabilities']), capabilities);
  return missing === undefined ? error : { kind: 'undeclared', requiredCapabilities: missing };
}
