// `npm test`: everything a bare clone needs, then every check, then every test.
// Arguments go to jest (`npm test -- test/unit`); the checks then stay away.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChecks } from './checks.mjs';
import { HOW_TO_INSTALL, obtainChromium } from './support/find-chromium.mjs';
import { obtainTemporal } from './support/obtain-temporal.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const chosen = process.argv.slice(2);

process.chdir(ROOT);
try {
  await step('set up', async () => {
    const { setUp } = await import('../apps/cli/setup.mjs');
    await setUp({ dev: true });
  });
  await step('browser', async () => {
    const path = await obtainChromium((line) => console.log(`  ${line}`));
    console.log(`  ${path ?? `${HOW_TO_INSTALL} Tests that drive a browser will fail.`}`);
  });
  await step('temporal', async () => {
    console.log(`  ${await obtainTemporal((line) => console.log(`  ${line}`))}`);
  });
  const failedChecks = chosen.length === 0 ? await step('checks', runChecks) : [];
  const tests = await step('tests', runJest);
  if (tests.skipped.length > 0)
    console.log([`${tests.skipped.length} skipped or left to write:`, ...tests.skipped].join('\n  '));
  if (failedChecks.length > 0) console.log(`checks that failed: ${failedChecks.join(', ')}`);
  if (failedChecks.length > 0 || tests.failed > 0 || tests.code !== 0) process.exitCode = 1;
  console.log(`${tests.passed} passed, ${tests.failed} failed`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
  console.log('0 passed, 1 failed');
}

/** Says what begins, does it, says how long it took. */
async function step(name, work) {
  const began = performance.now();
  console.log(`== ${name}`);
  const result = await work();
  console.log(`== ${name}: ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  return result;
}

/**
 * Runs jest and counts; of what was skipped it answers the names. A file that could not be run at all counts as one failure:
 * its tests are in no other number.
 */
async function runJest() {
  const folder = await mkdtemp(join(tmpdir(), 'jest-report-'));
  try {
    const report = join(folder, 'report.json');
    const jest = [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      // A snapshot that is missing is a failure, and not written by the way: `-u` writes it.
      '--ci',
    ];
    const code = await run(process.execPath, [...jest, '--json', `--outputFile=${report}`, ...chosen]);
    const counts = await readFile(report, 'utf8').then(JSON.parse, () => undefined);
    if (counts === undefined) return { code, passed: 0, failed: 1, skipped: [] };
    return {
      code,
      passed: counts.numPassedTests,
      failed: counts.numFailedTests + counts.numRuntimeErrorTestSuites,
      skipped: counts.testResults
        .flatMap(({ assertionResults }) => assertionResults)
        .filter(({ status }) => status === 'pending' || status === 'todo')
        .map(({ fullName }) => fullName),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The report goes to its file; jest prints what people read to the error output. */
function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? signal));
  });
}
