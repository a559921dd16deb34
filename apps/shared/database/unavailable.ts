import { DatabaseError } from 'pg';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { isAboutConnection, isPassingAnswer } from '../../../workflows/domain/passing-trouble.ts';

/**
 * What a statement failed of, as `ERR_DATABASE_UNAVAILABLE` where it is trouble that passes: whoever asked may try again.
 * Whether the statement was committed is then not known. Anything else stays as it is.
 */
export function asUnavailable(thrown: unknown): Error {
  const cause = thrown instanceof Error ? thrown : new Error(String(thrown));
  const passes = cause instanceof DatabaseError ? isPassingAnswer(cause) : isAboutConnection(cause);
  if (!passes || cause instanceof CountersignError) return cause;
  return new CountersignError('ERR_DATABASE_UNAVAILABLE', 'the database does not answer; try again', { cause });
}
