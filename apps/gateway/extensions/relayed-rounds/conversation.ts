import { objectOf, type Json, type JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import type { Conversation, UpstreamRound } from '../../../../workflows/domain/relay.ts';
import { type Handles, type HandleScope, sealRound, type OpenedRound } from '../sealed-state.ts';
import { relayedCapabilities, undeclared, undeclaredIn } from '../../wire/request-context.ts';
import { MISSING_CAPABILITY } from '../../wire/identifiers.ts';

/** What a client brings with a request that it repeats to answer questions. */
export interface BroughtInput {
  /** As it was given out; hostile until it was opened. */
  readonly requestState?: string;
  /** By the key of the question. */
  readonly inputResponses: ReadonlyMap<string, unknown>;
}

/** Somebody who may be asked, and may have been asked before. */
export interface Asked extends BroughtInput {
  /** What this very request declares of what is handed on. `undefined`: it is of an earlier revision, that has no questions. */
  readonly capabilities: JsonObject | undefined;
}

/** Questions of an upstream, as its client gets them. */
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

/**
 * What the upstream is told and brought. Answers go to whoever asked: those to a question of ours stay here. Answers without
 * a state go on, since an upstream need not give one.
 */
export function conversationWith({ capabilities = {}, inputResponses }: Asked, round?: OpenedRound): Conversation {
  const answers = round?.kind === 'question' ? [] : [...inputResponses].filter(([, response]) => response !== null);
  const state = round?.kind === 'relayed_round' ? round.state : undefined;
  return {
    capabilities,
    ...(answers.length > 0 && { inputResponses: Object.fromEntries(answers) as Record<string, Json> }),
    ...(state !== undefined && { requestState: state }),
  };
}

/** Hands a question on, to a client that declared what it needs. */
export async function handOnRound(
  handles: Handles,
  scope: HandleScope,
  { capabilities = {} }: Pick<Asked, 'capabilities'>,
  { kind: _kind, requestState: state, ...round }: UpstreamRound,
): Promise<RelayedRound | Undeclared> {
  const missing = undeclaredIn(round.inputRequests, capabilities);
  if (missing !== undefined) return { kind: 'undeclared', requiredCapabilities: missing };
  const held = { kind: 'relayed_round', ...(state !== undefined && { state }) } as const;
  return { kind: 'relayed_round', ...round, requestState: await sealRound(handles, scope, held) };
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
