import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { endRun, makeRunFolder, processesWith } from '../support/run-folder.mjs';

/** A process group of its own, as test servers have. */
async function startForever(environment: NodeJS.ProcessEnv, ...args: string[]) {
  const child = spawn(process.execPath, ['-e', "console.log('up'); setInterval(() => 0, 60_000)", ...args], {
    ...{ detached: true, env: environment, stdio: ['ignore', 'pipe', 'ignore'] as const },
  });
  if (child.stdout !== null) await once(child.stdout, 'data');
  return child;
}

it('the end of a run ends its processes in every process group, and no others', async () => {
  const [folder, other] = [makeRunFolder(), makeRunFolder()];
  const mine = [await startForever({ FOLDER: folder }), await startForever({}, `${folder}/data`)];
  const theirs = await startForever({ FOLDER: other });
  try {
    expect(processesWith(folder).sort()).toEqual(mine.map(({ pid }) => pid).sort());
    const ended = mine.map((child) => once(child, 'exit'));
    await endRun(folder);
    await Promise.all(ended);
    expect([existsSync(folder), existsSync(other)]).toEqual([false, true]);
    expect(processesWith(other)).toEqual([theirs.pid]);
  } finally {
    await endRun(other);
  }
});
