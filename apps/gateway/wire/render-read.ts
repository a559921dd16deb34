import type { Result } from '@modelcontextprotocol/server';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { ReadAnswer } from '../enforce-read.ts';
import { EARLIER_RESOURCE_NOT_FOUND, INVALID_PARAMS } from './identifiers.ts';
import { renderRelayedRound } from './render-relayed.ts';
import { missingCapabilities } from './sdk-overlay.ts';
import { forwardedError, forwardedResult } from './upstream-result.ts';

/**
 * An upstream's answer to a request that calls no tool. How long it may be kept, and by whom, is not for the upstream to say:
 * the next request may be refused. Throws the upstream's own error, or `ERR_UPSTREAM_UNAVAILABLE`.
 */
export function renderRead(answer: ReadAnswer): Result {
  if (answer.kind === 'error') {
    throw forwardedError(answer.code === EARLIER_RESOURCE_NOT_FOUND ? { ...answer, code: INVALID_PARAMS } : answer);
  }
  if (answer.kind === 'undeclared') throw missingCapabilities(answer.requiredCapabilities);
  if (answer.kind === 'relayed_round') return renderRelayedRound(answer);
  if (answer.kind !== 'result') throw new CountersignError('ERR_UPSTREAM_UNAVAILABLE', answer.cause);
  const { ttlMs: _ttlMs, cacheScope: _cacheScope, ...rest } = forwardedResult(answer.result);
  return rest;
}
