import { cellName, type Cell } from './cell.ts';
import { ACTIONS, LABELS, stepOf, type Label } from './steps.ts';

/** One run to make. */
export interface Task {
  readonly cell: Cell;
  /** From 1. */
  readonly repeat: number;
}

/** One line of the file of results. */
export interface Result {
  readonly label: Cell['label'];
  readonly action: Cell['action'];
  readonly repeat: number;
  readonly seconds: number;
  readonly fired: number;
  readonly ends: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

export const CELLS: readonly Cell[] = LABELS.flatMap((label) => ACTIONS.map((action) => ({ label, action })));

/**
 * All repeats of a cell come after the earlier repeats of every cell, so that a run that stops early has covered the
 * matrix.
 */
export function tasksFor(cells: readonly Cell[], repeats: number): Task[] {
  return Array.from({ length: repeats }, (_, index) => cells.map((cell) => ({ cell, repeat: index + 1 }))).flat();
}

/** Every `of`-th cell, starting with the `part`-th, both counted from 1. */
export function shardOf(cells: readonly Cell[], { part, of }: { part: number; of: number }): Cell[] {
  return cells.filter((_, index) => index % of === part - 1);
}

/** The cells of labels, steps or single cells: `E4b`, `E4`, `E4b/kill`. */
export function chosenCells(names: readonly string[]): Cell[] {
  return CELLS.filter(({ label, action }) =>
    names.some((name) => [label, label.slice(0, -1), `${label}/${action}`].includes(name)),
  );
}

export function isDone(task: Task, results: readonly Result[]): boolean {
  return results.some(
    ({ label, action, repeat }) => label === task.cell.label && action === task.cell.action && repeat === task.repeat,
  );
}

/** Label by action: the number of runs, and the number of runs with violations. */
export function matrixText(results: readonly Result[]): string {
  const cell = (wanted: Cell) => {
    const runs = results.filter((result) => cellName(result) === cellName(wanted));
    const broken = runs.filter(({ violations }) => violations.length > 0).length;
    return runs.length === 0 ? '-' : `${runs.length}/${broken}`;
  };
  const line = (label: Label) => {
    const { processes, at } = stepOf(label);
    const columns = ACTIONS.map((action) => cell({ label, action }).padStart(8)).join('');
    return `${label.padEnd(5)}${columns}   ${processes.join(', ').padEnd(15)} ${at}`;
  };
  const labels = LABELS.filter((label) => results.some((result) => result.label === label));
  const head = `${''.padEnd(5)}${ACTIONS.map((action) => action.padStart(8)).join('')}   (runs/runs with violations)`;
  return [head, ...labels.map(line)].join('\n');
}
