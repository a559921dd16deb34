import { describe, expect, it } from '@jest/globals';
import { isAlive } from '../../../../apps/shared/embedded/process-tools.ts';
import { findOrStartTemporal } from '../../../../apps/shared/embedded/temporal.ts';
import { embeddedTemporal } from '../../../support/embedded-servers.ts';
import { temporalTools } from '../../../support/obtain-temporal.mjs';

const { stateDir, serverPid, start, openWorkflow, statusOfWorkflow } = embeddedTemporal();

describe('findOrStartTemporal', () => {
  it('starts a server on loopback, and keeps running workflows over a restart', async () => {
    const first = await start();
    expect(first.address).toMatch(/^127\.0\.0\.1:\d+$/);
    await openWorkflow(first.address);
    const pid = serverPid();
    await first.stop();
    expect(isAlive(pid)).toBe(false);
    const second = await start();
    expect(await statusOfWorkflow(second.address)).toBe('RUNNING');
  });

  it('uses a given address without starting a server', async () => {
    const given = await findOrStartTemporal({
      stateDir: stateDir(),
      address: 'temporal.example:7233',
      ...temporalTools(),
    });
    expect(given).toMatchObject({ address: 'temporal.example:7233', how: 'TEMPORAL_ADDRESS' });
    await given.stop();
  });
});
