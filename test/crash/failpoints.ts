import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { endsProcess, positionOf, type Action, type Label, type StepName } from './steps.ts';

/** The fault to cause, its place, and how often. */
export interface Armed {
  /** Distinguishes this arming from every other one. */
  readonly id: string;
  readonly label: Label;
  readonly action: Action;
  /** Over all processes together. */
  readonly times: number;
  /** How long a `hang` lasts, in milliseconds. */
  readonly hangMs: number;
  /** Before it ends, the process waits until this many calls stand at the label, but no longer than `gatherMs`. */
  readonly gather: number;
  readonly gatherMs: number;
  /**
   * Fails until the other label has fired as often as it is armed for: calls reach that label only after this failure.
   */
  readonly ledBy?: Label;
  /** Replaces the execution timeout of claims made meanwhile, in milliseconds. */
  readonly executionTimeoutMs?: number;
}

/** One firing of a failpoint. */
export interface Fired {
  readonly label: Label;
  readonly action: Action;
  readonly pid: number;
  /** Instant (RFC 3339). */
  readonly at: string;
}

const armedFile = (folder: string) => join(folder, 'armed.json');
const firedFolder = (folder: string, id: string) => join(folder, 'fired', id);

export function arm(folder: string, armed: Armed): void {
  mkdirSync(firedFolder(folder, armed.id), { recursive: true });
  const file = armedFile(folder);
  writeFileSync(`${file}.new`, JSON.stringify(armed));
  renameSync(`${file}.new`, file);
}

export function disarm(folder: string): void {
  rmSync(armedFile(folder), { force: true });
}

export function firedOf(folder: string, id: string): Fired[] {
  const own = firedFolder(folder, id);
  return readdirSync(own).map((name) => JSON.parse(readFileSync(join(own, name), 'utf8')) as Fired);
}

/** The fault that is armed now, in any process that was given the folder. */
export function armedIn(folder: string): Armed | undefined {
  try {
    return JSON.parse(readFileSync(armedFile(folder), 'utf8')) as Armed;
  } catch {
    return undefined;
  }
}

/** How a broken call looks to its caller: an error that is thrown, or an answer that reports it. */
export type Failing<T> = (position: 'a' | 'b') => T | Promise<T>;

/** Lets a call of a port through, unless a fault is armed for it. */
export type Through = <T>(step: StepName, call: () => Promise<T>, failing: Failing<T>) => Promise<T>;

/** The failpoints of this process, steered by files in the folder, so that they can be armed while the process runs. */
export function createFailpoints(folder: string): Through {
  const gathering = createGathering(folder);

  const hit = async (label: Label): Promise<Action | undefined> => {
    const armed = armedIn(folder);
    if (armed?.ledBy === label) return firedOf(folder, armed.id).length < armed.times ? 'throw' : undefined;
    if (armed?.label !== label) return undefined;
    if (endsProcess(label, armed.action)) {
      if (firedOf(folder, armed.id).length >= armed.times) return undefined;
      const atOnce = positionOf(label) === 'c';
      // A caller with its answer goes on with it until the process ends.
      if (atOnce) void gathering(armed);
      else await gathering(armed);
      return undefined;
    }
    if (!claim(folder, armed)) return undefined;
    if (armed.action === 'hang') await pause(armed.hangMs);
    return armed.action;
  };

  return async (step, call, failing) => {
    if ((await hit(`${step}a`)) === 'throw') return failing('a');
    const answer = await call();
    if ((await hit(`${step}b`)) !== undefined) return failing('b');
    await hit(`${step}c`);
    return answer;
  };
}

/** Takes one of the remaining firings; never more than there are, however many processes try. */
function claim(folder: string, armed: Armed): boolean {
  const { id, label, action } = armed;
  const fired: Fired = { label, action, pid: process.pid, at: new Date().toISOString() };
  for (let time = 0; time < armed.times; time += 1) {
    try {
      writeFileSync(join(firedFolder(folder, id), String(time)), JSON.stringify(fired), { flag: 'wx' });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  return false;
}

/** Holds calls at a label until enough of them are there, and then ends the process under all of them at once. */
function createGathering(folder: string) {
  let armedId = '';
  let count = 0;
  let over: Promise<void> = Promise.resolve();
  let enough: () => void = () => undefined;

  return async (armed: Armed): Promise<void> => {
    if (armed.id !== armedId) {
      armedId = armed.id;
      count = 0;
      const isEnough = new Promise<void>((resolve) => (enough = resolve));
      over = Promise.race([isEnough, pause(armed.gatherMs)]).then(() => end(folder, armed));
    }
    count += 1;
    if (count >= armed.gather) enough();
    await over;
  };
}

/** A process that was started again meets a spent failpoint and goes on. */
function end(folder: string, armed: Armed): void {
  if (!claim(folder, armed)) return;
  const die = () => {
    if (armed.action === 'kill') process.kill(process.pid, 'SIGKILL');
    throw new Error(`armed: ${armed.label}`);
  };
  // Not before the callers with an answer have gone on.
  if (positionOf(armed.label) === 'c') setImmediate(die);
  else die();
}
