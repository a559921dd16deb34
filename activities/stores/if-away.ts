import { CountersignError } from '../../workflows/domain/errors.ts';

/** Answers this instead when the database is away for a while; any other failure is thrown on. */
export const ifAway =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (error instanceof CountersignError && error.retryable) return instead;
    throw error;
  };
