import { casesAgainst, INVARIANTS } from '../invariants/check-invariants.ts';
import type { Installation } from './installation.ts';
import type { DrillCall, Moment } from './moments.ts';

type Held = DrillCall & { readonly moment: Moment };
interface Row {
  readonly id: string;
  readonly task_id: string;
  readonly state: string;
  readonly reason: string | null;
}

/** The record's answer to "did it run?", and the permitted numbers of calls of the tool for it. */
const WRITES: Readonly<Record<string, readonly number[]>> = { yes: [1], no: [0], unknown: [0, 1] };

/**
 * Compares database and records with the observations of the tools, and adds each contradiction to the problems.
 * Answers how the calls ended, counted.
 */
export async function untruths(
  on: Installation,
  held: readonly Held[],
  problems: string[],
): Promise<Readonly<Record<string, number>>> {
  const rows = await on.query<Row>('SELECT id, task_id, state, reason FROM gateway.gated_call');
  const ends: Record<string, number> = {};
  for (const { moment, path, taskId } of held) {
    const row = rows.find((one) => one.task_id === taskId);
    const writes = on.writes(path);
    const end = row?.state ?? 'gone';
    ends[end] = (ends[end] ?? 0) + 1;
    if (writes > 1) problems.push(`${moment.name}: the tool was called ${writes} times, and the call is ${end}`);
    if (row === undefined || row.state === 'preparing') continue;
    const { answers } = (await on.stack.record(taskId)) as {
      answers: { didRun: { answer: string }; contradictions: unknown[] };
    };
    const said = answers.didRun.answer;
    if (!(WRITES[said] ?? []).includes(writes))
      problems.push(`${moment.name}: ${end}; the record says ${said}, and the tool was called ${writes} times`);
    if (answers.contradictions.length > 0) problems.push(`${moment.name}: the record contradicts itself`);
  }
  problems.push(...(await violations(on, rows)));
  return ends;
}

/** Invariants hold, except for calls that were ended because their progress is unknown. */
async function violations(on: Installation, rows: readonly Row[]): Promise<string[]> {
  const excused = new Set(rows.filter(({ reason }) => reason === 'restored').map(({ id }) => id));
  const found: string[] = [];
  for (const invariant of INVARIANTS.filter(({ needs }) => needs === undefined)) {
    const cases = await casesAgainst(await on.stack.database(), invariant, {});
    const left = cases.filter((one) => !Object.values(one).some((value) => excused.has(String(value))));
    if (left.length > 0) found.push(`${invariant.name}: ${JSON.stringify(left.slice(0, 3))}`);
  }
  return found;
}
