import { readdirSync } from 'node:fs';
import type { Pool } from 'pg';
import { preloading } from '../support/preload.ts';
import { residentBytes } from '../support/resident-bytes.ts';
import type { Part, Stack } from '../support/stack.ts';

/** The resources of a process: resident bytes, open files, connections to the database. */
export interface Held {
  readonly memory: number;
  readonly files: number;
  readonly connections: number;
}
/** The parts that live through the whole run: resources that they do not free are lost for good. */
export const SURVIVORS = ['gateway', 'worker'] as const satisfies readonly Part[];
type Survivor = (typeof SURVIVORS)[number];

/**
 * The resources of a part in the last quarter of its time, against the second one; in the first it warms up. Only calm
 * moments count, because calls that pile up behind a fault need sockets and memory until it ends.
 */
export interface Drift {
  readonly part: Survivor;
  readonly what: keyof Held;
  readonly before: number;
  readonly after: number;
}

/** Characters of a log. */
const LOG_SHOWN = 4_000;
const GROWTH = 0.1;
/**
 * Normal variation beside that. Memory: the engine's native core and the allocator keep the memory of a burst of calls
 * for a while; in ten minutes a leak of some 30 KiB per call exceeds it. Files: the sockets of as many callers as pile
 * up for a moment. Connections: a pool of ten and its listener, because the pool may have been empty after a restart of
 * the database.
 */
const ALLOWANCE: Held = { memory: 24 * 1_024 * 1_024, files: 32, connections: 11 };

/** Whether a part does not free its resources. Meaningful from ten minutes on: one fault fills a shorter quarter. */
export const hasGrown = ({ what, before, after }: Drift): boolean => after > before * (1 + GROWTH) + ALLOWANCE[what];

/** The survivors have to be started with these options: garbage that was never collected looks like held memory. */
export const OBSERVABLE = preloading('collect-garbage.mjs');

/** Samples the survivors at intervals. Linux only, as all memory measurements here. */
export function watchResources(stack: Stack, database: Pool) {
  const samples: Record<Survivor, Held[]> = { gateway: [], worker: [] };
  return {
    /** Leaves a sample out when the database does not answer. */
    async sample(): Promise<void> {
      for (const part of SURVIVORS) {
        if (!stack.isRunning(part))
          throw new Error(`the ${part} ended by itself: ${stack.log(part).slice(-LOG_SHOWN)}`);
        const connections = await connectionsOf(database, part).catch(() => undefined);
        if (connections !== undefined) samples[part].push({ ...processOf(stack.pid(part)), connections });
      }
    },
    drifts: (): Drift[] =>
      SURVIVORS.flatMap((part) =>
        (['memory', 'files', 'connections'] as const).map((what) => {
          const values = samples[part].map((held) => held[what]);
          const quarter = Math.floor(values.length / 4);
          const [before, after] = [values.slice(quarter, 2 * quarter), values.slice(-quarter)];
          return { part, what, before: inCalm(before), after: inCalm(after) };
        }),
      ),
  };
}

function processOf(pid: number): Pick<Held, 'memory' | 'files'> {
  return { memory: residentBytes(pid), files: readdirSync(`/proc/${pid}/fd`).length };
}

async function connectionsOf(database: Pool, part: Survivor): Promise<number> {
  const text = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name LIKE 'countersign ' || $1 || '%'`;
  return (await database.query<{ count: number }>(text, [part])).rows[0]?.count ?? Number.NaN;
}

/** The lowest decile: no burst raises it, and no moment in which the system took memory back lowers it. */
function inCalm(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 10)] ?? Number.NaN;
}
