import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findStack, removeStack, writeStack, type Stack, untilTaken } from '../../../apps/cli/stack.ts';
import type { HttpServer } from '../../../apps/shared/http/listen.ts';
import { serve } from '../../support/serve.ts';
import { PATIENT_FACTOR } from '../../support/time.ts';

let stateDir: string;
let server: HttpServer;
let gateway: string;
beforeEach(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'countersign-run-'));
  server = await serve((request, response) => {
    response.statusCode = request.url === '/healthz' ? 200 : 404;
    response.end();
  });
  gateway = server.url;
});
afterEach(async () => {
  await server.close();
  rmSync(stateDir, { recursive: true });
});

const aStack = (changes: Partial<Stack> = {}): Stack => ({
  pid: process.pid,
  startedAt: '2026-11-21T10:00:00.000Z',
  configFile: '/countersign.yaml',
  urls: { gateway, mcp: '', pdp: '', approvals: '', accessRequests: '', audit: '', issuer: '' },
  temporalAddress: '127.0.0.1:7233',
  ...changes,
});

/** The pid of a process that has ended. */
const deadPid = () => spawnSync(process.execPath, ['-e', '']).pid;

describe('the running stack', () => {
  const find = () => findStack({ stateDir, timeLimitFactor: PATIENT_FACTOR });

  it('is found again, in a file that only its owner can read', async () => {
    writeStack(stateDir, aStack());
    expect(await find()).toEqual(aStack());
    expect(statSync(join(stateDir, 'run.json')).mode & 0o777).toBe(0o600);
  });

  it('is not found when its process has ended', async () => {
    writeStack(stateDir, aStack({ pid: deadPid() }));
    expect(await find()).toBeUndefined();
  });

  it('is not found when its pid belongs to a process that does not answer', async () => {
    const stack = aStack();
    writeStack(stateDir, { ...stack, urls: { ...stack.urls, gateway: 'http://127.0.0.1:9' } });
    expect(await find()).toBeUndefined();
  });

  it('is not found in a damaged file, nor without a file', async () => {
    expect(await find()).toBeUndefined();
    writeFileSync(join(stateDir, 'run.json'), '{"pid":');
    expect(await find()).toBeUndefined();
  });

  it('is forgotten only by its own process', async () => {
    writeStack(stateDir, aStack());
    removeStack(stateDir, process.pid + 1);
    expect(await find()).toBeDefined();
    removeStack(stateDir, process.pid);
    expect(await find()).toBeUndefined();
  });
});

describe('a change of the file of the running stack', () => {
  const place = () => ({ stateDir, timeLimitFactor: 0.001 });
  const before = { inForceSince: '2026-11-21T10:00:00.000Z', pending: [] };
  const rejected = { since: '2026-11-21T11:00:00.000Z', problems: ['a'] };

  it.each([
    ['in force', { ...before, inForceSince: '2026-11-21T11:00:00.000Z' }],
    ['refused', { ...before, rejected }],
    ['unknown', before],
  ])('is %s', async (taken, configuration) => {
    writeStack(stateDir, aStack({ configuration }));
    expect(await untilTaken(place(), aStack({ configuration: before }))).toBe(taken);
  });

  it('is refused for other problems than before', async () => {
    const other = { ...rejected, problems: ['b'] };
    writeStack(stateDir, aStack({ configuration: { ...before, rejected: other } }));
    expect(await untilTaken(place(), aStack({ configuration: { ...before, rejected } }))).toBe('refused');
    expect(await untilTaken(place(), aStack({ configuration: { ...before, rejected: other } }))).toBe('unknown');
  });

  it('is in force if the stack had not read a change before', async () => {
    writeStack(stateDir, aStack({ configuration: before }));
    expect(await untilTaken(place(), aStack())).toBe('in force');
  });
});
