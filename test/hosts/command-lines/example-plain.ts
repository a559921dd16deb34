import { drive, given, run, say, TOKEN } from './common.ts';

/** The program that runs the example, and the example. */
const [interpreter = '', example = ''] = process.argv.slice(2);
const STEPS = ['tools', 'allowed', 'in-time', 'late', 'ended'];
const write = (path: string) => ['files__write_file', JSON.stringify({ path, content: path })];

/** Runs the example without a model once: its calls are its arguments. */
await drive(async () => {
  const calls = [
    ...['files__read_text_file', JSON.stringify({ path: given('HOST_READ') })],
    ...write(given('HOST_WRITE_IN_TIME')),
    ...write(given('HOST_WRITE_LATE')),
  ];
  const steps = [...STEPS];
  let printed = '';
  await run(interpreter, [example, ...calls], {
    env: { COUNTERSIGN_URL: given('HOST_URL'), ...(TOKEN !== undefined && { COUNTERSIGN_TOKEN: TOKEN }) },
    onText(text) {
      const lines = `${printed}${text}`.split('\n');
      printed = lines.pop() ?? '';
      for (const line of lines) {
        const isOfStep = steps[0] === 'late' || !line.includes('has not run');
        // A line of progress begins with dots.
        if (!line.startsWith('...') && isOfStep) say({ at: steps.shift() ?? 'more', said: line });
      }
    },
  });
});
