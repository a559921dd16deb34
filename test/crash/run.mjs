// `npm run test:crash`: sets a bare clone up, then runs the crash matrix. Arguments go to test/crash/main.ts.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setUp } from '../../apps/cli/setup.mjs';

const LOADER = new URL('../support/typescript.mjs', import.meta.url).href;
const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

await setUp({ dev: true });
const args = ['--no-warnings', '--import', LOADER, MAIN, ...process.argv.slice(2)];
spawn(process.execPath, args, { stdio: 'inherit' }).on('exit', (code) => {
  process.exitCode = code ?? 1;
});
