// Runs jest with everything Node needs to load TypeScript; arguments go to jest: `node test/jest.mjs test/unit -t 'a
// title'`.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const NODE_OPTIONS = [
  '--enable-source-maps',
  '--disable-warning=ExperimentalWarning',
  '--import',
  './test/support/typescript.mjs',
];

/**
 * Runs jest, which prints its report to the error output. @param {readonly string[]} args @param {Record<string,
 * string>} [variables] added to the environment @returns {Promise<number | string>} the exit code, or the signal that
 * ended it
 */
export function runJest(args, variables = {}) {
  return new Promise((resolve, reject) => {
    // `--ci`: a snapshot that is missing is a failure. `-u` writes it.
    const jest = spawn(process.execPath, [...NODE_OPTIONS, 'node_modules/jest/bin/jest.js', '--ci', ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      env: { ...process.env, ...variables },
    });
    jest.on('error', reject);
    jest.on('exit', (code, signal) => resolve(code ?? signal));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const code = await runJest(process.argv.slice(2));
  process.exitCode = typeof code === 'number' ? code : 1;
}
