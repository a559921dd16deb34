// `npm test`: prepares a bare clone, then runs every check, then every test. Arguments go to jest (`npm test --
// test/unit`); then no checks run.
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChecks } from './checks.mjs';
import { runJest } from './jest.mjs';
import { HOW_TO_INSTALL, obtainChromium } from './support/find-chromium.mjs';
import { obtainTemporal } from './support/obtain-temporal.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The projects of jest.config.mjs that are not checks. */
const PROJECTS = ['unit', 'parts', 'whole'];
/** Writes the times of this run down for the next ones. */
const WEIGH = '--weigh';
const WEIGHTS = 'test/weights.json';
const chosen = process.argv.slice(2).filter((argument) => argument !== WEIGH);

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
  const tests = await step('tests', runTests);
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

/** Announces a step, takes it, and prints how long it took. */
async function step(name, work) {
  const began = performance.now();
  console.log(`== ${name}`);
  const result = await work();
  console.log(`== ${name}: ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  return result;
}

/**
 * Runs jest and counts; for skipped tests it answers the names. A file that could not run at all counts as one failure,
 * because its tests are in no other number.
 */
async function runTests() {
  const folder = await mkdtemp(join(tmpdir(), 'jest-report-'));
  try {
    const report = join(folder, 'report.json');
    const selected = chosen.length > 0 ? chosen : ['--selectProjects', ...PROJECTS];
    const code = await runJest(['--json', `--outputFile=${report}`, ...selected]);
    const counts = await readFile(report, 'utf8').then(JSON.parse, () => undefined);
    if (counts === undefined) return { code, passed: 0, failed: 1, skipped: [] };
    if (process.argv.includes(WEIGH)) await writeWeights(counts.testResults);
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

/**
 * How long each file took, in seconds, for test/support/jest/sequencer.cjs. Short times do not matter to it. The times of files for
 * `npm run test:long` come from its logs.
 */
async function writeWeights(results) {
  const before = JSON.parse(await readFile(WEIGHTS, 'utf8'));
  const ofLong = Object.entries(before).filter(([name]) => name.endsWith('.long.ts') && existsSync(name));
  const weights = results
    .map(({ name, startTime, endTime }) => [relative(ROOT, name), Math.round((endTime - startTime) / 1_000)])
    .filter(([, seconds]) => seconds > 1)
    .concat(ofLong)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  await writeFile(WEIGHTS, `${JSON.stringify(Object.fromEntries(weights), null, 2)}\n`);
}
