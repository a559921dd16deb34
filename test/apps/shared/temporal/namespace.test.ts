import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { checkTemporal } from '../../../../apps/cli/commands/doctor/services.ts';
import { connectEngine, runWorker } from '../../../../apps/shared/temporal/worker.ts';
import { testTemporal } from '../../../support/temporal.ts';

describe('a Temporal namespace that is missing', () => {
  it('is named by worker and doctor, with the command that creates it', async () => {
    const { address, taskQueue } = await testTemporal();
    const temporal = { address, namespace: 'nowhere', taskQueue, tls: false };
    const what = `Temporal at ${address} has no namespace nowhere`;
    const command = `temporal operator namespace create --address ${address} --namespace nowhere`;
    const { connection, close } = await connectEngine(temporal, pino({ enabled: false }));
    await expect(runWorker({ connection, temporal, taskQueue, activities: {}, graceMs: 1_000 })).rejects.toThrow(
      `${what}: create it with \`${command}\``,
    );
    await close();
    const finding = await checkTemporal({ timeLimitFactor: 1, temporal }, address);
    expect(finding).toMatchObject({ status: 'fail', message: what, advice: expect.stringContaining(command) });
  });
});
