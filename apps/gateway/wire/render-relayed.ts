import type { Result } from '@modelcontextprotocol/server';
import type { RelayedRound } from '../relay/conversation.ts';
import { withoutReserved } from './upstream-result.ts';

/** Questions of an upstream, member for member, with a state of ours. @see SEP-2322, input required */
export function renderRelayedRound({ inputRequests, requestState, meta }: RelayedRound): Result {
  const kept = withoutReserved(meta);
  return {
    resultType: 'input_required',
    ...(inputRequests !== undefined && { inputRequests }),
    requestState,
    ...(kept !== undefined && { _meta: kept }),
  };
}
