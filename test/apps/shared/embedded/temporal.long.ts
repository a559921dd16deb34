import { writeFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { isAlive } from '../../../../apps/shared/embedded/process-tools.ts';
import { firstLine, killHard, startScript } from '../../../support/child.ts';
import { embeddedTemporal } from '../../../support/embedded-servers.ts';

const { stateDir, serverFile, serverPid, start, openWorkflow, statusOfWorkflow } = embeddedTemporal();

describe('findOrStartTemporal', () => {
  it('adopts the server of a killed process, and stops it in the end', async () => {
    const child = startScript('start-temporal.ts', stateDir());
    const address = await firstLine(child);
    await openWorkflow(address);
    await killHard(child);
    const pid = serverPid();
    const adopted = await start();
    expect(adopted).toMatchObject({ address, how: `already running (pid ${pid})` });
    expect(await statusOfWorkflow(adopted.address)).toBe('RUNNING');
    await adopted.stop();
    expect(isAlive(pid)).toBe(false);
  });

  it('starts again with all its data after a kill of the server itself', async () => {
    const first = await start();
    await openWorkflow(first.address);
    process.kill(serverPid(), 'SIGKILL');
    const second = await start();
    expect(await statusOfWorkflow(second.address)).toBe('RUNNING');
  });

  it('gives two processes that start at once the same server', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    expect(two.address).toBe(one.address);
  });

  it('neither adopts nor ends another process with the pid of a former server', async () => {
    const first = await start();
    await first.stop();
    writeFileSync(serverFile(), JSON.stringify({ pid: process.pid, port: Number(first.address.split(':')[1]) }));
    const second = await start();
    expect(second.how).not.toMatch(/already running/);
  });
});
