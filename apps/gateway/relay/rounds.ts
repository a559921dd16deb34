import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { ReadMethod } from '../../../workflows/domain/upstream-ports.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { HandleContent, Handles, HandleScope, OpenedHandle } from '../handles.ts';

/** How long somebody has to answer. */
const LIFETIME_SECONDS = 600;

/** One round of questions, whoever asks. */
export type Round = Extract<HandleContent, { kind: 'question' | 'relayed_round' }>;
/** A round that came back. */
export type OpenedRound = Extract<OpenedHandle, { kind: 'question' | 'relayed_round' }>;

/** Exactly this call of exactly this caller, and of a tool that is what it was. */
export const callScope = ({
  caller,
  upstream,
  callDigest,
  toolDigest,
}: Pick<CallBinding, 'caller' | 'upstream' | 'callDigest' | 'toolDigest'>): HandleScope => ({
  caller,
  about: sha256(JSON.stringify(['tools/call', upstream, callDigest, toolDigest])),
});

/** Exactly this request of exactly this caller. Throws `ERR_ARGUMENTS_INVALID` for parameters that have no canonical form. */
export function readScope(
  caller: Principal,
  { upstream, method, params }: { upstream: string; method: ReadMethod; params: JsonObject },
): HandleScope {
  const { _meta, ...salient } = params;
  try {
    return { caller, about: sha256(canonicalJson([method, upstream, salient])) };
  } catch (cause) {
    throw new CountersignError('ERR_ARGUMENTS_INVALID', 'the parameters have no canonical form', { cause });
  }
}

/** The state that goes out with a question. */
export const sealRound = (handles: Handles, scope: HandleScope, round: Round): Promise<string> =>
  handles.seal(round, scope, LIFETIME_SECONDS);

/** The round that a request comes back from, if it says so. Throws `ERR_REQUEST_STATE_INVALID` for a state that is none of it. */
export async function openRound(
  handles: Handles,
  scope: HandleScope,
  state: string | undefined,
): Promise<OpenedRound | undefined> {
  if (state === undefined) return undefined;
  const opened = await handles.open(state, scope);
  if (opened === undefined || opened.kind === 'relayed_task') {
    throw new CountersignError('ERR_REQUEST_STATE_INVALID', 'a request state is not for this request of this caller');
  }
  return opened;
}
