import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { checkTemporal, checkWorkers } from '../../../../apps/cli/commands/doctor/services.ts';
import { systemClock } from '../../../../apps/shared/clock.ts';
import { connectEngine, runWorker } from '../../../../apps/shared/temporal/worker.ts';
import { testTemporal } from '../../../support/temporal.ts';
import { PATIENT_FACTOR } from '../../../support/time.ts';
import { patiently } from '../../../support/wait-for.ts';

it('a task queue that no worker asks is a finding of doctor, and one that a worker asks is not', async () => {
  const { address, namespace, taskQueue } = await testTemporal();
  const temporal = { address, namespace, taskQueue: `${taskQueue}-asked`, tls: false };
  const workers = () => checkWorkers({ timeLimitFactor: PATIENT_FACTOR, temporal }, address);
  const advice = expect.stringMatching(/start a worker/);
  expect(await workers()).toMatchObject({ status: 'fail', message: expect.stringMatching(/no worker asks/), advice });
  const log = pino({ enabled: false });
  const { connection, close } = await connectEngine(temporal, log);
  const activities = { nothing: async () => undefined };
  const options = { connection, temporal, activities, graceMs: 1_000, clock: systemClock, log };
  const worker = await runWorker({ ...options, taskQueue: temporal.taskQueue });
  try {
    await patiently(async () => ((await workers()).status === 'ok' ? true : undefined));
  } finally {
    await worker.stop();
    await close();
  }
});

describe('a Temporal namespace that is missing', () => {
  it('is named by worker and doctor, with the command that creates it', async () => {
    const { address, taskQueue } = await testTemporal();
    const temporal = { address, namespace: 'nowhere', taskQueue, tls: false };
    const what = `Temporal at ${address} has no namespace nowhere`;
    const command = `temporal operator namespace create --address ${address} --namespace nowhere`;
    const log = pino({ enabled: false });
    const { connection, close } = await connectEngine(temporal, log);
    const options = { connection, temporal, taskQueue, activities: {}, graceMs: 1_000, clock: systemClock, log };
    await expect(runWorker(options)).rejects.toThrow(`${what}: create it with \`${command}\``);
    await close();
    const finding = await checkTemporal({ timeLimitFactor: PATIENT_FACTOR, temporal }, address);
    expect(finding).toMatchObject({ status: 'fail', message: what, advice: expect.stringContaining(command) });
  });
});
