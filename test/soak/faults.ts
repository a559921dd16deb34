import { setTimeout as pause } from 'node:timers/promises';
import { randomInt } from 'node:crypto';
import type { Pool } from 'pg';
import type { Part, Stack } from '../support/stack.ts';
import { SURVIVORS } from './resources.ts';

const KILLED = ['pdp', 'approvals', 'audit', 'temporal', 'postgres'] as const satisfies readonly Part[];
const AWAY_MS = 3_000;
const HELD_MS = 5_000;

interface Fault {
  readonly name: string;
  readonly happen: (stack: Stack, database: Pool) => Promise<void>;
}

/** Gateway and worker are only held up, because this program watches their memory and files for the whole run. */
const FAULTS: readonly Fault[] = [
  ...KILLED.map((part) => ({
    name: `${part} killed`,
    async happen(stack: Stack) {
      await stack.kill(part);
      await pause(randomInt(AWAY_MS));
      await stack.startPart(part);
    },
  })),
  ...SURVIVORS.map((part) => ({
    name: `${part} held up`,
    async happen(stack: Stack) {
      stack.signal(part, 'SIGSTOP');
      await pause(randomInt(HELD_MS));
      stack.signal(part, 'SIGCONT');
    },
  })),
  {
    name: 'sessions of the database ended',
    async happen(_stack: Stack, database: Pool) {
      await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'countersign %' AND random() < 0.5`,
      );
    },
  },
];

/** Any of the faults. Answers its name, its start and its end. */
export async function anyFault(stack: Stack, database: Pool): Promise<{ name: string; from: string; to: string }> {
  const fault = FAULTS[randomInt(FAULTS.length)] as Fault;
  const from = new Date().toISOString();
  await fault.happen(stack, database);
  return { name: fault.name, from, to: new Date().toISOString() };
}
