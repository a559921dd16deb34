import { CountersignError } from './errors.ts';

/**
 * SQLSTATEs that say "not now": connection trouble (08), a deadlock or another conflict (40), no disk, memory or
 * connection left (53), a shutdown or a crash (57P), a failing disk (58), a lock or statement that took too long, and a
 * server that only reads.
 */
const PASSING = /^(08|40|53|57P|58)|^(55P03|57014|25006)$/;
/** A prepared statement whose table was migrated. Its connection is given up, and the next one prepares it anew. */
const OUTDATED_PLAN = 'cached plan must not change result type';

/**
 * What a statement failed of, as `ERR_DATABASE_UNAVAILABLE` where it is trouble that passes: the caller may try again.
 * Whether the statement was committed is then not known. Anything else stays as it is, and so does what has a name already.
 */
export function asUnavailable(thrown: unknown): Error {
  const cause = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (cause instanceof CountersignError || !passes(cause)) return cause;
  return new CountersignError('ERR_DATABASE_UNAVAILABLE', 'the database does not answer; try again', { cause });
}

/** What is no answer of the database is about the connection to it; but for faults of the program, which have classes of their own. */
const passes = (error: Error): boolean =>
  isAnswer(error)
    ? PASSING.test(error.code) || error.message === OUTDATED_PLAN
    : !(error instanceof TypeError || error instanceof RangeError);

/** Errors that the database itself told of have a severity beside their code, always; those of the network have a code alone. */
const isAnswer = (error: Error): error is Error & { readonly code: string } => 'severity' in error && 'code' in error;
