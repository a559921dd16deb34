// The built gateway, with failpoints between it and its ports. Started as a separate process.
import type * as Gateway from '../../apps/gateway/main.ts';
import type * as Deployable from '../../apps/shared/deployable.ts';
import { systemClock } from '../../apps/shared/clock.ts';
import { breakAnswers } from './breakable-answers.ts';
import { breakableGateway } from './broken-ports.ts';
import { errorClassOfBuild, failpointFolder, fromBuild } from './build.ts';
import { createFailpoints } from './failpoints.ts';

const [{ connectGateway, startGatewayOn, GATEWAY_SECRETS }, { runDeployable }, Failure] = await Promise.all([
  fromBuild<typeof Gateway>('apps/gateway/main.js'),
  fromBuild<typeof Deployable>('apps/shared/deployable.js'),
  errorClassOfBuild(),
]);
const through = createFailpoints(failpointFolder());
breakAnswers(through);
await runDeployable('gateway', GATEWAY_SECRETS, systemClock, ({ config, secrets, ...deps }) =>
  startGatewayOn(config, secrets, breakableGateway(connectGateway(config, secrets, deps), through, Failure)),
);
