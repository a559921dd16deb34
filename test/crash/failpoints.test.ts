import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startScript } from '../support/child.ts';
import { arm, createFailpoints, disarm, firedOf, type Armed } from './failpoints.ts';

const ARMED: Armed = { id: 'one', label: 'E3b', action: 'throw', times: 1, hangMs: 20, gather: 1, gatherMs: 50 };
const failing = (position: 'a' | 'b') => `failed at ${position}`;

describe('failpoints', () => {
  let folder!: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'failpoints-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const counted = () => {
    const calls = { count: 0 };
    const call = async () => `answer ${(calls.count += 1)}`;
    return { calls, call };
  };

  it('let everything through while nothing is armed, and unarmed labels at all times', async () => {
    const through = createFailpoints(folder);
    const { call } = counted();
    expect(await through('E3', call, failing)).toBe('answer 1');
    arm(folder, ARMED);
    expect(await through('E4', call, failing)).toBe('answer 2');
    disarm(folder);
    expect(await through('E3', call, failing)).toBe('answer 3');
  });

  it('fail before the call, or after it', async () => {
    const through = createFailpoints(folder);
    const { calls, call } = counted();
    arm(folder, { ...ARMED, id: 'before', label: 'E3a' });
    expect(await through('E3', call, failing)).toBe('failed at a');
    expect(calls.count).toBe(0);
    arm(folder, ARMED);
    expect(await through('E3', call, failing)).toBe('failed at b');
    expect(calls.count).toBe(1);
  });

  it('hold a call up, and let it go on after a hang', async () => {
    const through = createFailpoints(folder);
    const began = performance.now();
    arm(folder, { ...ARMED, label: 'E3c', action: 'hang' });
    expect(await through('E3', counted().call, failing)).toBe('answer 1');
    expect(performance.now() - began).toBeGreaterThanOrEqual(19);
  });

  it('fail at the step that leads to a label, until the label has fired as often as it is armed for', async () => {
    const through = createFailpoints(folder);
    arm(folder, { ...ARMED, ledBy: 'E4a' });
    const led = () => through('E4', counted().call, failing);
    expect([await led(), await led()]).toEqual(['failed at a', 'failed at a']);
    expect(await through('E3', counted().call, failing)).toBe('failed at b');
    expect(await led()).toBe('answer 1');
  });

  it('fire as often as they are armed for, however many processes meet them', async () => {
    arm(folder, { ...ARMED, times: 3 });
    const processes = Array.from({ length: 10 }, () => createFailpoints(folder));
    const answers = await Promise.all(processes.map((through) => through('E3', counted().call, failing)));
    expect(answers.filter((answer) => answer === 'failed at b')).toHaveLength(3);
    expect(firedOf(folder, 'one')).toHaveLength(3);
    expect(firedOf(folder, 'one')[0]).toMatchObject({ label: 'E3b', action: 'throw', pid: process.pid });
  });

  it.each([
    ['kill', 'E3a', 0],
    ['kill', 'E3b', 1],
    ['kill', 'E3c', 1],
    ['throw', 'E3c', 1],
  ] as const)('%s ends a process at %s, once', async (action, label, done) => {
    arm(folder, { ...ARMED, label, action });
    const die = async () => {
      const child = startScript('../crash/start-victim.ts', folder);
      let said = '';
      child.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
      return { code, signal, said };
    };
    const first = await die();
    expect(first.code === 0).toBe(false);
    expect(first.signal).toBe(action === 'kill' ? 'SIGKILL' : null);
    expect(first.said).toBe('done\n'.repeat(done));
    expect(await die()).toEqual({ code: 0, signal: null, said: 'done\ngone on\n' });
  });
});
