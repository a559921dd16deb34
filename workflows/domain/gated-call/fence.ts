/** Why all executions stop: the database may have lost committed rows. */
export const FINDINGS = {
  restored: 'the database was restored from a backup, or copied from another one',
  engine_ahead: 'the database is older than Temporal remembers it: it lacks claims that were made',
  call_ran: 'Temporal remembers that a call was sent or had ended, and the call is open in the database',
  no_witness: 'the database was recovered or failed over, and Temporal has no mark of it that would show the lost rows',
  reconciling: '`countersign reconcile` was begun and has not come to its end',
} as const;

/** `whole`, or why nothing is executed and no open call ends. */
export type FenceState = 'whole' | keyof typeof FINDINGS;

/** The operator's next step for each of them. */
export const AFTER_A_RESTORE =
  'run `countersign reconcile --after-restore --temporal kept`, or `--temporal lost` where Temporal was restored, emptied or replaced as well';

/** How far a database has come: restores that were reconciled, and claims. The mark of a newer one is greater. */
export interface FenceMark {
  readonly epoch: number;
  readonly claims: number;
}
