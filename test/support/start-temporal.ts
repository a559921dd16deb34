// Runs in a separate process, which a test then kills: starts Temporal in the folder named by the argument.
import { findOrStartTemporal } from '../../apps/shared/embedded/temporal.ts';
import { temporalTools } from './obtain-temporal.mjs';

const server = await findOrStartTemporal({ stateDir: process.argv[2] ?? '', ...temporalTools() });
process.stdout.write(`${server.address}\n`);
setInterval(() => undefined, 60_000);
