// Runs in a separate process: makes one call through a failpoint of the folder in the argument.
import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { createFailpoints } from './failpoints.ts';

const through = createFailpoints(process.argv[2] ?? '');
await through(
  'E3',
  async () => void writeSync(1, 'done\n'),
  () => undefined,
);
await pause(200);
writeSync(1, 'gone on\n');
