import { apply, hasEnded, NO_ROW, type Operation, type Row } from './row.ts';

const ALWAYS: readonly Operation[] = [
  ...(['takeSubmission', 'releaseSubmission'] as const).map((kind) => ({ kind })),
  ...(['cancel', 'deny', 'fail', 'expire'] as const).map((kind) => ({ kind })),
  ...([1, 2] as const).flatMap((attempt) => [
    { kind: 'notSent', attempt } as const,
    { kind: 'settle', attempt, isError: false } as const,
    { kind: 'settle', attempt, isError: true } as const,
  ]),
  { kind: 'requestDeadlinePasses' },
  { kind: 'approvalRunsOut' },
  { kind: 'executionDeadlinePasses' },
  { kind: 'decisionsGetOld' },
];

/** Every operation that can be tried on a row, sensible or not. */
export function operationsOn(row: Row): Operation[] {
  if (row.state === 'none') return [{ kind: 'open' }];
  const known = ([1, 2] as const).filter((generation) => generation <= row.generation);
  const claims = ([1, 2] as const).filter((claim) => claim <= Math.max(row.claims, 1));
  return [
    ...ALWAYS,
    ...claims.flatMap((claim): Operation[] => [
      { kind: 'permit', attempt: 1, claim },
      { kind: 'permit', attempt: 2, claim },
      { kind: 'release', claim },
    ]),
    // An identical call after the end is another call.
    ...(hasEnded(row) ? [] : [{ kind: 'open' as const }]),
    ...known.flatMap((generation): Operation[] => [
      { kind: 'attach', generation },
      { kind: 'grant', generation },
      { kind: 'grantOver', generation },
      { kind: 'allow', generation },
      // The model has no third claim.
      ...(row.claims === 2 && row.claim === 0
        ? []
        : known.map((decidedIn) => ({ kind: 'claim' as const, generation, decidedIn }))),
      { kind: 'requestAgain', generation },
    ]),
  ];
}

/** A row, and the operations that lead to the rows first reached from it. */
export interface Branch {
  readonly row: Row;
  readonly next: { readonly operation: Operation; readonly branch: Branch }[];
}

/**
 * Rows that are tried separately. After an end, the path to a claim no longer matters, so one row stands for all that
 * differ only in it.
 */
function keyOf(row: Row): string {
  const { approval, decisions, requestOver, ...rest } = row;
  return JSON.stringify(hasEnded(row) ? rest : [rest, approval, decisions, requestOver]);
}

/** Every reachable row, as a tree of shortest paths. */
export function rowTree(): { root: Branch; rows: number } {
  const root: Branch = { row: NO_ROW, next: [] };
  const queue = [root];
  const seen = new Set([keyOf(NO_ROW)]);
  for (const branch of queue) {
    for (const operation of operationsOn(branch.row)) {
      const { row } = apply(branch.row, operation);
      const key = keyOf(row);
      if (seen.has(key)) continue;
      seen.add(key);
      const further: Branch = { row, next: [] };
      branch.next.push({ operation, branch: further });
      queue.push(further);
    }
  }
  return { root, rows: queue.length };
}
