// Preloaded into a process: each of its threads collects its garbage every two seconds, so that its memory is the
// memory it needs.
import { setInterval } from 'node:timers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
setInterval(runInNewContext('gc'), 2_000).unref();
