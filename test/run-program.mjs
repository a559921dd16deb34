// Runs a test program written in TypeScript, in a bare clone too: `node test/run-program.mjs races --calls 500` runs
// test/races/main.ts with the arguments behind its name.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setUp } from '../apps/cli/setup.mjs';

const [name, ...args] = process.argv.slice(2);
const loader = new URL('./support/typescript.mjs', import.meta.url).href;
const main = fileURLToPath(new URL(`./${name}/main.ts`, import.meta.url));

await setUp({ dev: true });
spawn(process.execPath, ['--no-warnings', '--import', loader, main, ...args], { stdio: 'inherit' }).on(
  'exit',
  (code) => {
    process.exitCode = code ?? 1;
  },
);
