import { approvalArtefacts, openCall, sealsOf, type SealedDatabase } from '../support/sealed-calls.ts';
import { readFileSync } from 'node:fs';
import { checkInvariants } from '../invariants/check-invariants.ts';
import { checkReads } from '../invariants/client-reads.ts';
import type { Arrival } from '../invariants/invariant.ts';
import { endsOf, isDeadly } from './cell.ts';
import type { Rig } from './rig.ts';
import { CANARY, tasksOf, type Exchange, type Run } from './run-cell.ts';

interface LedgerEntry {
  readonly upstreamKey: string;
  /** The key of the HTTP request. */
  readonly headerKey?: string;
  readonly entry: string;
  readonly digest: string;
  readonly at: string;
  readonly reply: string;
}

interface CallRow {
  readonly task_id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly entry: string;
  readonly result: string | null;
  readonly handle: string | null;
}

/** The number of calls by state, and all violations. */
export interface Verdict {
  readonly ends: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

/** Checks every promise against the database, the ledger and the clients' reads. */
export async function checkRun(rig: Rig, run: Run): Promise<Verdict> {
  const ledger = readLedger(rig.ledgerFile);
  const calls = await callsOf(rig, run.exchanges);
  const violations = [
    ...run.overdue,
    ...(run.fired.length === 0 ? ['the fault did not happen'] : []),
    ...(await databaseViolations(rig, run, ledger)),
    ...ledgerViolations(calls, ledger),
    ...clientViolations(run, calls),
    ...endViolations(run, calls),
    ...(await leaks(rig, run.exchanges)),
  ];
  const ends: Record<string, number> = {};
  for (const { state } of calls.values()) ends[state] = (ends[state] ?? 0) + 1;
  return { ends, violations };
}

function readLedger(file: string): LedgerEntry[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LedgerEntry);
}

const sealed = ({ database, secrets }: Rig): SealedDatabase => ({ database, secrets: secrets.secrets });

async function callsOf(rig: Rig, exchanges: readonly Exchange[]): Promise<Map<string, CallRow>> {
  const taskIds = [...new Set(exchanges.map(({ taskId }) => taskId))];
  const calls = await Promise.all(taskIds.map((taskId) => openCall(sealed(rig), taskId)));
  const rows = calls
    .filter((call) => call !== undefined)
    .map(({ taskId, state, reason, result, binding, handle }) => {
      const { entry } = JSON.parse(binding.arguments) as { entry: string };
      return { task_id: taskId, state, reason, entry, result, handle: handle?.accessRequestId ?? null };
    });
  return new Map(rows.map((row) => [row.task_id, row]));
}

async function databaseViolations(rig: Rig, run: Run, ledger: readonly LedgerEntry[]): Promise<string[]> {
  const found = await checkInvariants(rig.database, {
    arrivals: ledger.map(({ upstreamKey, digest, at }): Arrival => ({ upstreamKey, argumentsDigest: digest, at })),
    faults: [...rig.outages, ...rig.faults],
    seenTaskIds: run.exchanges.map(({ taskId }) => taskId),
    quietForMs: 1_000,
    keyed: sealsOf(sealed(rig)).digest,
  });
  return found.map(({ invariant, cases }) => `${invariant}: ${JSON.stringify(cases)}`);
}

/** Matches calls by their content, under any key. */
function ledgerViolations(calls: ReadonlyMap<string, CallRow>, ledger: readonly LedgerEntry[]): string[] {
  return [...calls.values()].flatMap(({ task_id: taskId, entry, state, reason, result }) => {
    const own = ledger.filter((arrival) => arrival.entry === entry);
    const twins = [...calls.values()].filter((call) => call.entry === entry).length;
    const found: string[] = [];
    if (own.length > twins) found.push(`it arrived ${own.length} times`);
    // An upstream that checks only one of the two must recognise a repetition as well as one that checks the other.
    if (own.some(({ headerKey, upstreamKey }) => headerKey !== upstreamKey)) {
      found.push('it arrived with one idempotency key in its header and another in its message');
    }
    if (['cancelled', 'denied', 'failed'].includes(state) && own.length > 0) found.push(`it is ${state} and arrived`);
    if (reason === 'not_sent' && own.length > twins - 1) found.push('it was not sent and arrived');
    if (state === 'executed' && !own.some(({ reply }) => result?.includes(reply))) {
      found.push('its result is not what the tool answered');
    }
    return found.map((what) => `${taskId}: ${what}`);
  });
}

function clientViolations({ exchanges }: Run, calls: ReadonlyMap<string, CallRow>): string[] {
  const [first, identical, foreign] = exchanges;
  const found = exchanges.flatMap(({ taskId, reads }) => {
    const call = calls.get(taskId);
    if (call === undefined || call.handle === null) return [`${taskId}: a task that was handed out is not there`];
    return checkReads({ taskId, reads, state: call.state });
  });
  if (first?.taskId !== identical?.taskId) found.push('identical calls of one caller got two tasks');
  if (first?.taskId === foreign?.taskId) found.push('two callers got one task');
  return found;
}

/** Every decision has taken effect, or the fault honestly explains the difference. */
function endViolations(run: Run, calls: ReadonlyMap<string, CallRow>): string[] {
  const { cell, exchanges, fired } = run;
  const found = tasksOf(exchanges).flatMap(({ plan, taskId }) => {
    const state = calls.get(taskId)?.state ?? 'gone';
    const allowed = endsOf(plan, cell);
    return allowed.includes(state) ? [] : [`${taskId}: ${plan}: ${state} (${calls.get(taskId)?.reason})`];
  });
  const unknown = [...calls.values()].filter(({ state }) => state === 'outcome_unknown').length;
  if (!isDeadly(cell) && unknown > fired.length) found.push(`${unknown} unknown outcomes of ${fired.length} faults`);
  return found;
}

/** Clients read nothing of the authority side, and no log or history contains an argument. */
async function leaks(rig: Rig, exchanges: readonly Exchange[]): Promise<string[]> {
  const wire = JSON.stringify(exchanges.map(({ reads }) => reads));
  const artefacts = await approvalArtefacts(
    sealed(rig),
    exchanges.map(({ taskId }) => taskId),
  );
  return [
    ...(artefacts.some((text) => wire.includes(text)) ? ['a client read something of the authority side'] : []),
    ...(rig.written().includes(CANARY) ? ['an argument is in a log'] : []),
    ...(rig.engineStore().includes(CANARY) ? ['an argument is in the history of the engine'] : []),
  ];
}
