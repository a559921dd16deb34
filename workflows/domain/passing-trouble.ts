/**
 * SQLSTATEs that say "not now": connection trouble (08), a deadlock or another conflict (40), no disk, memory or
 * connection left (53), a shutdown or a crash (57P), a failing disk (58), a lock or statement that took too long, and a
 * server that only reads.
 */
const PASSING = /^(08|40|53|57P|58)|^(55P03|57014|25006)$/;
/** A prepared statement whose table was migrated. Its connection is given up, and the next one prepares it anew. */
const OUTDATED_PLAN = 'cached plan must not change result type';

/** Whether what a database answered with says that the same statement may succeed later. `code`: its SQLSTATE. */
export const isPassingAnswer = ({
  code = '',
  message,
}: {
  readonly code?: string | undefined;
  readonly message: string;
}) => PASSING.test(code) || message === OUTDATED_PLAN;

/** Whether a failure that is no answer of the database is about the connection: all but faults of the program are, which have classes of their own. */
export const isAboutConnection = (error: unknown): boolean =>
  !(error instanceof TypeError || error instanceof RangeError);
