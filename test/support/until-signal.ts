// Runs in a separate process: three parts, the second of which stops as the argument says.
import { isEntryScript, type Running, runUntilSignal } from '../../apps/shared/lifecycle.ts';
import { ordinaryTime } from './time.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);
const part = (name: string, stop: () => Promise<void> = async () => undefined, stopMs?: number): Running => ({
  name,
  ...(stopMs !== undefined && { stopMs }),
  stop: () => {
    say(`stop ${name}`);
    return stop();
  },
});
const manner: Record<string, () => Promise<void>> = {
  cleanly: async () => undefined,
  failing: () => Promise.reject(new Error('stuck')),
  never: () => new Promise(() => undefined),
  'never, and may take six seconds': () => new Promise(() => undefined),
  'never, and may take an hour': () => new Promise(() => undefined),
};
const mayTake: Record<string, number> = {
  // A machine that stands still is not the subject of this test.
  cleanly: 3_600_000,
  failing: 3_600_000,
  'never, and may take six seconds': 6_000,
  'never, and may take an hour': 3_600_000,
};

process.stderr.write = process.stdout.write.bind(process.stdout);
const alive = setInterval(() => undefined, 60_000);
const how = process.argv[2] ?? '';
const ended = runUntilSignal([part('one'), part('two', manner[how], mayTake[how]), part('three')], ordinaryTime);
say(`entry ${isEntryScript(import.meta.url)}`);
say(
  await ended.then(
    (signal) => `ended by ${signal}`,
    (error: AggregateError) => error.message,
  ),
);
clearInterval(alive);
