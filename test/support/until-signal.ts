// Runs in a process of its own: three parts, the second of which stops as the argument says.
import { isEntryScript, runUntilSignal, type Running } from '../../apps/shared/lifecycle.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);
const part = (name: string, stop: () => Promise<void> = async () => undefined): Running => ({
  name,
  stop: () => {
    say(`stop ${name}`);
    return stop();
  },
});
const manner: Record<string, () => Promise<void>> = {
  cleanly: async () => undefined,
  failing: () => Promise.reject(new Error('stuck')),
  never: () => new Promise(() => undefined),
};

process.stderr.write = process.stdout.write.bind(process.stdout);
const alive = setInterval(() => undefined, 60_000);
const ended = runUntilSignal([part('one'), part('two', manner[process.argv[2] ?? '']), part('three')]);
say(`entry ${isEntryScript(import.meta.url)}`);
say(
  await ended.then(
    (signal) => `ended by ${signal}`,
    (error: AggregateError) => error.message,
  ),
);
clearInterval(alive);
