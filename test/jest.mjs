// Runs jest with everything Node needs to load TypeScript; arguments go to jest: `node test/jest.mjs test/unit -t 'a
// title'`.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { endRun, makeRunFolder, RUN_FOLDER } from './support/run-folder.mjs';

const NODE_OPTIONS = [
  '--enable-source-maps',
  // Tests make many short-lived objects: a larger young generation spares collections of them.
  '--max-semi-space-size=64',
  // Most code runs a few times in a test. With V8's own budget, to optimize that code takes longer than the optimized code saves.
  '--interrupt-budget=1000000',
  '--disable-warning=ExperimentalWarning',
  '--import',
  './test/support/typescript.mjs',
];

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs jest, which prints its report to the error output. At Ctrl-C, this process ends when everything has ended that
 * the tests started. @param {readonly string[]} args @param {Record<string, string>} [variables] added to the
 * environment @returns {Promise<number | string>} the exit code, or the signal that ended it
 */
export async function runJest(args, variables = {}) {
  const folder = makeRunFolder();
  let isInterrupted = false;
  const interrupt = (signal) => {
    if (isInterrupted) return;
    isInterrupted = true;
    console.error('Ending what the tests started …');
    void endRun(folder).then(() => process.exit(128 + constants.signals[signal]));
  };
  for (const signal of SIGNALS) process.once(signal, interrupt);
  const ended = new Promise((resolve, reject) => {
    // `--ci`: a snapshot that is missing is a failure. `-u` writes it.
    const jest = spawn(process.execPath, [...NODE_OPTIONS, 'node_modules/jest/bin/jest.js', '--ci', ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      env: { ...process.env, ...variables, [RUN_FOLDER]: folder },
    });
    jest.on('error', reject);
    jest.on('exit', (code, signal) => {
      if (SIGNALS.includes(signal)) interrupt(signal);
      if (!isInterrupted) resolve(code ?? signal);
    });
  });
  try {
    return await ended;
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    await endRun(folder);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const code = await runJest(process.argv.slice(2));
  process.exitCode = typeof code === 'number' ? code : 1;
}
