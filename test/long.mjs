// `npm run test:long`: tests at length the promises that `npm test` protects once, one section after the other.
import { execFileSync, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setUp } from '../apps/cli/setup.mjs';
import { HOW_TO_INSTALL, obtainChromium } from './support/find-chromium.mjs';
import { obtainTemporal } from './support/obtain-temporal.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = join(ROOT, '.countersign', 'test-long');
const VERDICTS = join(FOLDER, 'verdicts.json');

const files = (...folders) => ['test/jest.mjs', '--config', 'jest.long.config.mjs', ...folders];
const program = (name, ...args) => ['test/run-program.mjs', name, ...args];

/** The short sections come first, so that most failures show soon. */
const SECTIONS = [
  { name: 'authzen', what: 'the decision point against the scenarios of AuthZEN', run: program('authzen') },
  { name: 'quorum', what: 'three approvers at the same moment', run: program('quorum') },
  { name: 'races', what: 'approval, cancellation and deadline at the same moment', run: program('races') },
  { name: 'histories', what: 'random lives of calls', run: program('histories') },
  {
    name: 'model',
    what: 'the whole of the model against the SQL functions',
    run: ['test/jest.mjs', 'test/stores/protocol-model', 'test/stores/parties', 'test/apps/approvals/stages-model'],
    atLength: true,
  },
  { name: 'mutants', what: 'faults planted in the protocol', run: program('mutants') },
  { name: 'conformance', what: 'the official conformance suite of MCP', run: program('conformance') },
  { name: 'inspector', what: 'the MCP Inspector against the whole product', run: program('inspector') },
  { name: 'issuers', what: 'the whole product with Keycloak as its issuer', run: program('issuers') },
  { name: 'first-minute', what: 'a stranger with the packed package in an empty folder', run: program('first-minute') },
  { name: 'principals', what: 'attempts on tasks of others', run: program('principals') },
  { name: 'workflows', what: 'long lives of workflows', run: files('test/workflows') },
  {
    name: 'postgres',
    what: 'a database that fails',
    run: files('test/postgres', 'test/e2e/postgres', 'test/apps/shared/embedded/postgres'),
  },
  {
    name: 'engine',
    what: 'an engine that works against calls',
    run: files('test/engine', 'test/apps/shared/embedded/temporal'),
  },
  {
    name: 'e2e',
    what: 'whole installations, broken in every way',
    run: files('test/e2e/(?!postgres)', 'test/apps/offboarding', 'test/browser', 'test/clients', 'test/pixels'),
  },
  { name: 'pixels', what: 'random pairs of calls that differ', run: program('pixels', '--pairs', '500') },
  { name: 'fuzz', what: 'random requests to the MCP endpoint', run: program('fuzz') },
  { name: 'forgeries', what: 'forged tokens, approvals, callbacks and decisions', run: program('forgeries') },
  { name: 'scale', what: '10,000 calls that wait', run: program('scale') },
  { name: 'restore', what: 'backups restored at every moment of a call', run: program('restore') },
  { name: 'soak', what: 'calls during one fault after another', run: program('soak', '--minutes', '4') },
  // It needs programs of five languages, and fetches gigabytes for its first run.
  { name: 'hosts', what: 'real clients in five languages', run: program('hosts'), onlyByName: true },
];

const HELP = `Tests at length the promises that \`npm test\` protects once, one section after the other; about an hour on two processors.

  npm run test:long                                all sections but hosts
  npm run test:long -- --section races             one of them; may be repeated
  npm run test:long -- --resume                    without those that passed on this commit
  npm run test:long -- --section engine --thorough  more and longer (engine, postgres): half an hour each
  npm run test:long -- --list                      the names of the sections

The output of a section goes to ${join('.countersign', 'test-long')}. Exit code 1 when one of them fails.
`;

const { values } = parseArgs({
  options: {
    section: { type: 'string', multiple: true },
    resume: { type: 'boolean', default: false },
    thorough: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(HELP.trimEnd());
else if (values.list) for (const { name, what } of SECTIONS) console.log(`${name.padEnd(12)} ${what}`);
else await main(chosenSections());

function chosenSections() {
  const unknown = (values.section ?? []).filter((name) => !SECTIONS.some((section) => section.name === name));
  if (unknown.length > 0) {
    console.error(`There is no section ${unknown.join(', ')}. \`npm run test:long -- --list\` prints their names.`);
    process.exit(1);
  }
  return SECTIONS.filter(({ name, onlyByName = false }) => values.section?.includes(name) ?? !onlyByName);
}

async function main(sections) {
  process.chdir(ROOT);
  const commit = execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=40'], { encoding: 'utf8' }).trim();
  const verdicts = values.resume ? readVerdicts(commit) : {};
  await setUp({ dev: true });
  console.log((await obtainChromium(console.log)) ?? `${HOW_TO_INSTALL} The section pixels will fail.`);
  console.log(await obtainTemporal(console.log));
  mkdirSync(FOLDER, { recursive: true });

  for (const [index, section] of sections.entries()) {
    if (verdicts[section.name]?.passed) {
      console.log(line(section, verdicts[section.name], 'before'));
      continue;
    }
    console.log(`        ${section.name.padEnd(12)} ${section.what} (${index + 1} of ${sections.length}) …`);
    verdicts[section.name] = await runSection(section);
    writeFileSync(VERDICTS, JSON.stringify({ commit, verdicts }, null, 2));
    console.log(line(section, verdicts[section.name]));
  }

  const failed = sections.filter(({ name }) => !verdicts[name].passed).map(({ name }) => name);
  const seconds = sections.reduce((sum, { name }) => sum + verdicts[name].seconds, 0);
  console.log(`${sections.length - failed.length} of ${sections.length} sections passed, ${minutes(seconds)}`);
  if (failed.length === 0) return;
  console.log(`failed: ${failed.join(', ')}. Each printed to ${join('.countersign', 'test-long', '<section>.log')}.`);
  process.exitCode = 1;
}

/** The sections that passed on this commit. A result from another commit does not count. */
function readVerdicts(commit) {
  try {
    const before = JSON.parse(readFileSync(VERDICTS, 'utf8'));
    return before.commit === commit ? before.verdicts : {};
  } catch (error) {
    if (error.code === 'ENOENT') return {};
    throw error;
  }
}

/** Runs one section to its end. The last line of its output is its figure. */
function runSection({ name, run, atLength = false }) {
  const began = performance.now();
  const log = createWriteStream(join(FOLDER, `${name}.log`));
  const env = { ...process.env, ...((atLength || values.thorough) && { COUNTERSIGN_THOROUGH_TESTS: '1' }) };
  let last = '';
  return new Promise((resolve) => {
    const child = spawn(process.execPath, run, { stdio: ['ignore', 'pipe', 'pipe'], env });
    const end = (passed, said) => {
      log.end();
      resolve({ passed, said, seconds: (performance.now() - began) / 1_000 });
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.pipe(log, { end: false });
      stream.on('data', (chunk) => (last = lastLine(`${last}\n${chunk}`)));
    }
    child.on('error', (error) => end(false, error.message));
    child.on('close', (code) => end(code === 0, last));
  });
}

function lastLine(text) {
  return text.trimEnd().split('\n').at(-1) ?? '';
}

function minutes(seconds) {
  return `${(seconds / 60).toFixed(1)} min`;
}

function line({ name }, { passed, said, seconds }, when = minutes(seconds)) {
  return `${passed ? 'ok    ' : 'FAILED'}  ${name.padEnd(12)} ${when.padStart(9)}  ${said}`;
}
