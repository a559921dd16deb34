import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort, until, withStartLock } from '../../../../apps/shared/embedded/process-tools.ts';

const WITHIN_MS = 400;
/** No code of this process runs for this long, as when the machine stands still. */
const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

it('waits on for an answer after the machine stood still', async () => {
  let asked = 0;
  const ask = () => {
    asked += 1;
    if (asked === 1) standStill(2 * WITHIN_MS);
    return asked > 3 ? 'here' : undefined;
  };
  expect(await until(ask, { withinMs: WITHIN_MS, everyMs: 5 })).toBe('here');
});

it('gives up without an answer', async () => {
  expect(await until(() => undefined, { withinMs: 50, everyMs: 5 })).toBeUndefined();
});

it('never gives out a port twice', async () => {
  const ports: number[] = [];
  for (let n = 0; n < 500; n += 1) ports.push(await freePort());
  expect(new Set(ports).size).toBe(ports.length);
});

describe('a lock', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lock-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('of a living process stays, and the one that waits learns which process it is, and no advice to delete it', async () => {
    const file = join(folder, 'a.lock');
    writeFileSync(file, String(process.ppid));
    const waits: (readonly number[])[] = [];
    const waiting = withStartLock(
      file,
      () => Promise.resolve('mine'),
      60,
      (...told) => waits.push(told),
    );
    await expect(waiting).rejects.toThrow(
      `process ${process.ppid} holds ${file}; wait until it is done, and start again`,
    );
    expect(waits).toEqual([[process.ppid, 0]]);
    expect(readFileSync(file, 'utf8')).toBe(String(process.ppid));
  });

  it('of a process that was killed goes, without a word', async () => {
    const file = join(folder, 'a.lock');
    const { pid } = spawnSync(process.execPath, ['--version']);
    writeFileSync(file, String(pid));
    const waits: unknown[] = [];
    expect(
      await withStartLock(
        file,
        () => Promise.resolve('mine'),
        60,
        (...told) => waits.push(told),
      ),
    ).toBe('mine');
    expect([waits, existsSync(file)]).toEqual([[], false]);
  });
});
