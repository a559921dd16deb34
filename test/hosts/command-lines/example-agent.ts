import { drive, given, LIST, run, say, TOKEN, wordsToRead, wordsToWrite } from './common.ts';

/** The program that runs the example, and the example. */
const [interpreter = '', example = ''] = process.argv.slice(2);
/** What the example prints of a call that still waits. */
const HELD = /^.*has not run.*$/m;

/** Runs an example with an agent once for each step. Its model does what the task asks. */
await drive(async (modelUrl) => {
  const env = {
    COUNTERSIGN_URL: given('HOST_URL'),
    ...(TOKEN !== undefined && { COUNTERSIGN_TOKEN: TOKEN }),
    ...{ OPENAI_BASE_URL: `${modelUrl}/v1`, OPENAI_API_KEY: 'unused', OPENAI_AGENTS_DISABLE_TRACING: '1' },
    ...{ ANTHROPIC_BASE_URL: `${modelUrl}/v1`, ANTHROPIC_API_KEY: 'unused' },
  };
  const ask = (task: string) => run(interpreter, [example, task], { env });
  say({ at: 'tools', said: await ask(LIST) });
  say({ at: 'allowed', said: await ask(wordsToRead()) });
  say({ at: 'in-time', said: await ask(wordsToWrite(given('HOST_WRITE_IN_TIME'))) });

  let printed = '';
  let end = 0;
  const task = `${wordsToWrite(given('HOST_WRITE_LATE'))}, and follow it to its end`;
  const all = await run(interpreter, [example, task], {
    env,
    onText(text, type) {
      printed += text;
      const [held] = HELD.exec(printed) ?? [];
      if (end > 0 || held === undefined || !printed.includes(`${held}\n`)) return;
      end = printed.indexOf(held) + held.length;
      say({ at: 'late', said: held });
      // The example that stops goes on now, and waits again.
      type('\n');
    },
  });
  say({ at: 'ended', said: all.slice(end) });
});
