import { canonicalJson, type Json } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { HandleContent, Handles, HandleScope, OpenedHandle } from '../handles.ts';

/** How long somebody has to answer. */
const LIFETIME_SECONDS = 600;

/** One round of questions, whoever asks. */
export type Round = Extract<HandleContent, { kind: 'question' | 'relayed_round' }>;
/** A round that came back. */
export type OpenedRound = Extract<OpenedHandle, { kind: 'question' | 'relayed_round' }>;

/** The request that is repeated to answer: exactly this one, of exactly this caller, and a tool that is what it was. */
export const callScope = ({
  caller,
  upstream,
  callDigest,
  toolDigest,
}: Pick<CallBinding, 'caller' | 'upstream' | 'callDigest' | 'toolDigest'>): HandleScope => ({
  caller,
  about: aboutOf('tools/call', [upstream, callDigest, toolDigest]),
});

/** What tells a request from all others, in one digest. */
export const aboutOf = (method: string, parts: Json): string => sha256(canonicalJson([method, parts]));

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
