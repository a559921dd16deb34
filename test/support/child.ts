import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const LOADER = new URL('./typescript.mjs', import.meta.url).href;

/** Starts a TypeScript file of this folder in a separate process. Its errors go to this process's stderr. */
export function startScript(name: string, ...args: string[]): ChildProcess {
  const file = fileURLToPath(new URL(name, import.meta.url));
  return spawn(process.execPath, ['--no-warnings', '--import', LOADER, file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** The first line the process prints. Fails when it ends before. */
export async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the process has no output');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the process ended without a line');
}

/** Kills the process without a chance to clean up, and waits until it is gone. */
export async function killHard(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
