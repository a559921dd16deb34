import { readFileSync } from 'node:fs';

/** The resident memory of a process. Linux only. */
export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
}
