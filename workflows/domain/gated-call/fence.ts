/** What stops all executions after the database lost rows that were committed. */
export const FINDINGS = {
  restored: 'the database was restored from a backup, or copied from another one',
  engine_ahead: 'the database is older than Temporal remembers it: claims that were made are not in it',
  call_ran: 'Temporal remembers that a call was sent, or had ended, which is open in the database',
  no_witness:
    'the database was recovered or failed over, and Temporal, which would know what was lost, has no mark of it',
  reconciling: '`countersign reconcile` was begun and has not come to its end',
} as const;

/** `whole`, or why nothing is executed and no open call ends. */
export type FenceState = 'whole' | keyof typeof FINDINGS;

/** What an operator does about each of them. */
export const AFTER_A_RESTORE =
  'run `countersign reconcile --after-restore --temporal kept`, or `--temporal lost` where Temporal was restored, emptied or replaced as well';

/** How far a database has come: restores that were reconciled, and claims. The mark of a newer one is greater. */
export interface FenceMark {
  readonly epoch: number;
  readonly claims: number;
}
