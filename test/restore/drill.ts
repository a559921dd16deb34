import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { backUp, type DatabaseCopy, type EngineCopy } from '../support/copies.ts';
import { patiently } from '../support/wait-for.ts';
import { install, PATIENCE, type Installation } from './installation.ts';
import { PHASES, type DrillCall, type Moment } from './moments.ts';
import { untruths } from './untruths.ts';

export interface Combination {
  readonly database: DatabaseCopy;
  readonly engine: EngineCopy;
  /**
   * Who notices the restore: the product by itself; or no process, so that a person must report it before gateway and
   * worker start.
   */
  readonly noticedBy: 'product' | 'person' | 'nothing to notice';
}

export interface DrillResult {
  readonly combination: string;
  readonly calls: number;
  /** The final states of the calls, counted. */
  readonly ends: Readonly<Record<string, number>>;
  /** The violations. */
  readonly problems: readonly string[];
}

export const nameOf = ({ database, engine }: Combination): string => `${database}/${engine}`;

type Held = DrillCall & { readonly moment: Moment };
type Say = (what: string) => void;

/**
 * Brings a call to every moment of its life, takes a backup, lets all of them end, and restores the backup. Then all
 * approvers vote again, before and after `countersign reconcile`. No tool may be called twice, and no record may be
 * false.
 */
export async function drill(combination: Combination, moments: readonly Moment[], say: Say): Promise<DrillResult> {
  const on = await install();
  const problems: string[] = [];
  try {
    say('brings a call to every moment');
    const { held, restore } = await untilBackup(on, combination, moments, problems);
    say('lets all calls end');
    await untilTheEnd(on, held, problems);
    await on.stop();
    say('restores');
    await restore();
    if (combination.noticedBy === 'person') await on.reconcile('lost');
    const alarms = on.alarms();
    await on.start();
    if (combination.noticedBy === 'product') await whileFrozen(on, { combination, held, alarms, say }, problems);
    say('votes again, and looks at every call');
    await afterwards(on, problems);
    const ends = await untruths(on, held, problems);
    return { combination: nameOf(combination), calls: held.length, ends, problems };
  } catch (error) {
    problems.push(`broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    return { combination: nameOf(combination), calls: 0, ends: {}, problems };
  } finally {
    await on.stack.stop();
  }
}

/** Opens the calls, brings each to its moment, stops everything, and takes the backup. */
async function untilBackup(on: Installation, combination: Combination, moments: readonly Moment[], problems: string[]) {
  const held: Held[] = [];
  for (const [index, moment] of moments.entries()) {
    const path = join(on.stack.files, `${moment.phase === 'twice' ? 'twice' : 'once'}-${index}.txt`);
    held.push({ path, moment, taskId: moment.phase === 'opened' ? await halfOpened(on, path) : await on.open(path) });
  }
  let release: () => Promise<void> = async () => undefined;
  for (const phase of PHASES) {
    if (phase === 'twice') await on.demandTwo();
    if (phase === 'held at the tool') on.stack.holdUpstream();
    if (phase === 'without permits') release = await on.withholdPermits();
    if (phase === 'without policy') await on.kill('pdp');
    for (const call of held.filter(({ moment }) => moment.phase === phase)) {
      await call.moment.before?.(on, call);
      const isThere = async () => (await on.stateOf(call.taskId)) === call.moment.state;
      await patiently(isThere, PATIENCE).catch(() =>
        problems.push(`${call.moment.name}: the call did not reach this moment`),
      );
    }
  }
  await on.stop();
  await release();
  rmSync(join(on.stack.journal, 'hold'), { force: true });
  return { held, restore: await backUp(on.stack, combination) };
}

/** A call whose access request could not be made yet. */
async function halfOpened(on: Installation, path: string): Promise<string> {
  await on.kill('approvals');
  const found = await patiently(async () => {
    await on.tryToOpen(path);
    return (await on.query<{ task_id: string }>(`SELECT task_id FROM gateway.gated_call WHERE state = 'preparing'`))[0];
  }, PATIENCE);
  await on.startPart('approvals');
  return found.task_id;
}

/** Lets every call go on from its moment to its end, and checks that the drill itself works. */
async function untilTheEnd(on: Installation, held: readonly Held[], problems: string[]): Promise<void> {
  await on.start();
  for (const call of held) await call.moment.after?.(on, call);
  for (const { moment, taskId, path } of held) {
    if (moment.name.endsWith('waits')) continue;
    await patiently(async () => (await on.statusOf(taskId)) !== 'working', PATIENCE).catch(async () =>
      problems.push(`${moment.name}: the call is still ${await on.stateOf(taskId)} before anything was restored`),
    );
    const writes = on.writes(path);
    if (moment.writes !== undefined && writes !== moment.writes)
      problems.push(`${moment.name}: the tool was called ${writes} times before anything was restored`);
  }
  await on.nothingIsLeft();
}

interface Frozen {
  readonly combination: Combination;
  readonly held: readonly Held[];
  /** Alarms raised before do not count. */
  readonly alarms: number;
  readonly say: Say;
}

/**
 * The operator does not reconcile, and all approvers vote again: no call runs and no call ends, and log and `doctor`
 * say why.
 */
async function whileFrozen(on: Installation, { combination, held, alarms, say }: Frozen, problems: string[]) {
  say('votes again, and reconciles nothing');
  await patiently(async () => on.alarms() > alarms, PATIENCE).catch(() => problems.push('no alarm was raised'));
  if ((await on.doctor()) !== 'fail') problems.push('doctor does not report the restore');
  const records = await recordsOf(on);
  const writes = held.map(({ path }) => on.writes(path));
  await voteOnAll(on);
  const waiting = held.find(({ moment }) => moment.state === 'pending');
  if (waiting !== undefined) await on.cancel(waiting.taskId);
  await on.query('UPDATE gateway.gated_call SET request_deadline = clock_timestamp() WHERE state = $1', ['pending']);
  await on.nothingIsLeft();
  if ((await recordsOf(on)) !== records) problems.push('a call ended while the database was frozen');
  if (held.some(({ path }, index) => on.writes(path) !== writes[index])) problems.push('a tool was called again');
  await on.query(
    `UPDATE gateway.gated_call SET request_deadline = created_at + request_ttl_ms * interval '1 ms' WHERE state = 'pending'`,
  );
  say('reconciles');
  if (combination.engine === 'emptied') {
    const isRefused = await on.reconcile('kept').then(
      () => false,
      () => true,
    );
    if (!isRefused) problems.push('an emptied engine counts as a witness');
  }
  await on.reconcile(combination.engine === 'kept' ? 'kept' : 'lost');
  if ((await on.doctor()) !== 'ok') problems.push('doctor reports a fault for a reconciled database');
}

const recordsOf = async (on: Installation) =>
  (await on.query<{ count: number }>('SELECT count(*)::int AS count FROM gateway.outcome_record'))[0]?.count;

async function voteOnAll(on: Installation): Promise<void> {
  for (const request of await on.pendingRequests()) await on.approve(request);
}

/** All approvers vote on every pending request, until no call is open. Then a new call runs as usual. */
async function afterwards(on: Installation, problems: string[]): Promise<void> {
  const done = async () => {
    await voteOnAll(on);
    await on.query(
      `UPDATE gateway.gated_call SET execution_deadline = clock_timestamp() WHERE state = 'claimed'
       AND id IN (SELECT gated_call_id FROM gateway.invocation WHERE began_at < clock_timestamp() - interval '30 s')`,
    );
    const open = await on.query<{ state: string }>(
      `SELECT state FROM gateway.gated_call WHERE ended_at IS NULL AND state <> 'preparing'`,
    );
    return open.length === 0;
  };
  await patiently(done, PATIENCE).catch(() => problems.push('open calls do not move on'));
  const path = join(on.stack.files, 'afterwards.txt');
  const taskId = await on.open(path);
  await patiently(async () => {
    await voteOnAll(on);
    return (await on.statusOf(taskId)) === 'completed';
  }, PATIENCE).catch(() => problems.push('a new call is not executed'));
  if (on.writes(path) !== 1) problems.push(`the tool of a new call was called ${on.writes(path)} times`);
  const pending = async () => (await on.pendingRequests()).length === 0;
  await patiently(pending, PATIENCE).catch(() => problems.push('approvers are asked about a call that has ended'));
}
