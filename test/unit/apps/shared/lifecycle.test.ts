import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { describe, expect, it } from '@jest/globals';
import { isEntryScript, stopAll } from '../../../../apps/shared/lifecycle.ts';
import { startScript } from '../../../support/child.ts';

interface Child {
  child: ChildProcess;
  lines: string[];
  output: Interface;
}

async function start(manner: string): Promise<Child> {
  const child = startScript('until-signal.ts', manner);
  if (child.stdout === null) throw new Error('no output');
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout });
  output.on('line', (line) => lines.push(line));
  await once(output, 'line');
  return { child, lines, output };
}

async function exit({ child }: Child): Promise<number | null> {
  if (child.exitCode === null) await once(child, 'close');
  return child.exitCode;
}

describe('runUntilSignal', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'stops in the reverse order of start at %s, and lets the process end',
    async (signal) => {
      const run = await start('cleanly');
      run.child.kill(signal);
      expect(await exit(run)).toBe(0);
      expect(run.lines).toEqual(['entry true', 'stop three', 'stop two', 'stop one', `ended by ${signal}`]);
    },
  );

  it('stops the others when one fails to stop, and then reports the failure', async () => {
    const run = await start('failing');
    run.child.kill('SIGTERM');
    await exit(run);
    expect(run.lines.slice(1)).toEqual(['stop three', 'stop two', 'stop one', 'not everything stopped cleanly']);
  });

  it('leaves at once at a second signal', async () => {
    const run = await start('never, and may take an hour');
    run.child.kill('SIGINT');
    while (!run.lines.includes('stop two')) await once(run.output, 'line');
    run.child.kill('SIGINT');
    expect(await exit(run)).toBe(1);
  });

  it.each([
    ['never', 5],
    ['never, and may take six seconds', 6],
  ])('leaves, when a part stops %s, after %i seconds', async (manner, seconds) => {
    const run = await start(manner);
    const asked = performance.now();
    run.child.kill('SIGTERM');
    expect(await exit(run)).toBe(1);
    expect(performance.now() - asked).toBeGreaterThan((seconds - 0.5) * 1_000);
    expect(run.lines.at(-1)).toBe(`Not everything stopped within ${seconds} seconds; leaving.`);
  });
});

describe('stopAll', () => {
  it('names every part that did not stop cleanly', async () => {
    const fails = (name: string) => ({ name, stop: () => Promise.reject(new Error('no')) });
    const outcome = stopAll([fails('worker'), { name: 'audit', stop: async () => undefined }, fails('gateway')]);
    await expect(outcome).rejects.toMatchObject({
      errors: [{ message: 'gateway did not stop cleanly' }, { message: 'worker did not stop cleanly' }],
    });
  });
});

describe('isEntryScript', () => {
  it('is false for a module that was only imported', () => {
    expect(isEntryScript(import.meta.url)).toBe(false);
  });
});
