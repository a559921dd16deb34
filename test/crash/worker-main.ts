// The built worker, with failpoints between it and its ports. Started as a separate process.
import type * as Gateway from '../../apps/gateway/main.ts';
import type * as Deployable from '../../apps/shared/deployable.ts';
import type * as Worker from '../../apps/worker/main.ts';
import { systemClock } from '../../apps/shared/clock.ts';
import { breakableWorker } from './broken-ports.ts';
import { errorClassOfBuild, failpointFolder, fromBuild } from './build.ts';
import { createFailpoints } from './failpoints.ts';

const [{ connectWorker, startWorkerOn, WORKER_SECRETS }, { connectUpstreams }, { runDeployable, given }, Failure] =
  await Promise.all([
    fromBuild<typeof Worker>('apps/worker/main.js'),
    fromBuild<typeof Gateway>('apps/gateway/main.js'),
    fromBuild<typeof Deployable>('apps/shared/deployable.js'),
    errorClassOfBuild(),
  ]);
const folder = failpointFolder();
const through = createFailpoints(folder);
await runDeployable('worker', WORKER_SECRETS, systemClock, async ({ config, secrets, ...deps }) => {
  const temporalAddress = given(config.temporal.address, 'TEMPORAL_ADDRESS');
  const upstreams = connectUpstreams(config, deps);
  const real = await connectWorker(config, secrets, { ...deps, temporalAddress, upstreams });
  const worker = await startWorkerOn(config, breakableWorker(real, through, { Failure, folder }));
  process.stdout.write('ready\n');
  const stop = async () => {
    try {
      await worker.stop();
    } finally {
      await upstreams.close();
    }
  };
  return { name: 'worker', stop };
});
