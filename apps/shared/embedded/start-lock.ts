import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isAlive, until } from './process-tools.ts';

/**
 * Runs `work` while no other process of this machine does so under the same file. A holder that was killed is found
 * out by its pid. Waits as long as a living holder needs, at most `withinMs`.
 */
export async function withStartLock<T>(file: string, work: () => Promise<T>, withinMs = 600_000): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const taken = await until(() => (take(file) ? true : undefined), { withinMs, everyMs: 50 });
  if (taken !== true) throw new Error(`another process holds ${file}; if none is starting, delete the file`);
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** The lock appears with its holder's pid in it, in one step: nobody can see it empty. */
function take(file: string): boolean {
  const mine = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  writeFileSync(mine, String(process.pid));
  try {
    linkSync(mine, file);
    return true;
  } catch {
    removeIfAbandoned(file);
    return false;
  } finally {
    rmSync(mine, { force: true });
  }
}

function removeIfAbandoned(file: string): void {
  try {
    const holder = Number(readFileSync(file, 'utf8'));
    if (holder !== process.pid && !isAlive(holder)) rmSync(file, { force: true });
  } catch {
    // Just released.
  }
}
