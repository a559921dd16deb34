import { spawn, type ChildProcess } from 'node:child_process';
import type { StdioServerParameters } from '@modelcontextprotocol/client/stdio';

/** The groups of the programs that run, by their ids. */
const running = new Set<number>();
let endsWithProcess = false;

/**
 * Starts a program in a process group of its own. A terminal sends its signals to the group of this process, which then lets calls under way
 * end before it ends the program. `kill` of the child reaches all of its group. What is left of the group when the program has ended, or
 * when this process exits, gets SIGTERM. If this process is killed, the standard input of the program ends.
 */
export function spawnApart({ command, args = [], env, cwd, stderr }: StdioServerParameters): ChildProcess {
  const child = spawn(command, args, { env, cwd, stdio: ['pipe', 'pipe', stderr ?? 'inherit'], detached: true });
  const { pid } = child;
  if (pid === undefined) return child;
  endWithProcess();
  running.add(pid);
  child.kill = (signal = 'SIGTERM') => signalGroup(pid, signal);
  // At this event, no process of the group holds the pipes any more.
  child.once('close', () => {
    running.delete(pid);
    signalGroup(pid, 'SIGTERM');
  });
  return child;
}

/** False if no process of the group is there, or if it belongs to another user. */
function signalGroup(id: number, signal: NodeJS.Signals | number): boolean {
  try {
    return process.kill(-id, signal);
  } catch {
    return false;
  }
}

function endWithProcess(): void {
  if (endsWithProcess) return;
  endsWithProcess = true;
  process.once('exit', () => {
    for (const id of running) signalGroup(id, 'SIGTERM');
  });
}
