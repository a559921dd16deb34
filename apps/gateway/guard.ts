import { ProtocolError } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { CountersignError, type ErrorCode } from '../../workflows/domain/errors.ts';
import type { Rendering } from './wire/rendering.ts';
import { internalError, toProtocolError, type FailureOf } from './wire/error-codes.ts';

/** Runs what answers one request of a method. A failure is told as one of a request, if not said otherwise. */
export type Guarded = <T>(method: string, run: () => Promise<T>, failureOf?: FailureOf) => Promise<T>;

/** Failures that somebody has to look at, whoever was answered. */
const ALARMS: Partial<Record<ErrorCode, string>> = {
  ERR_SEAL_BROKEN: 'seal_broken',
  ERR_SEALING_KEY_UNAVAILABLE: 'sealing_key_missing',
};

/**
 * Lets only errors out that were written for clients. The message of any other would go on the wire as it is, so it is
 * logged instead and the client reads a general one.
 */
export function guard(log: Logger, denials: Rendering['coaz']['denials']): Guarded {
  return async (method, run, failureOf = 'request') => {
    try {
      return await run();
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      if (error instanceof CountersignError) {
        const alarm = ALARMS[error.code];
        if (alarm !== undefined) log.error({ method, alarm, err: error }, 'what is sealed cannot be opened');
        else if (error.retryable) log.warn({ method, code: error.code, err: error }, 'a request could not be served');
        throw toProtocolError(error, failureOf, denials);
      }
      log.error({ method, err: error }, 'unexpected error while serving a request');
      throw internalError();
    }
  };
}
