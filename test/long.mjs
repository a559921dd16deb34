// `npm run test:long`: tests at length the promises that `npm test` protects once.
import { execFileSync, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setUp } from '../apps/cli/setup.mjs';
import { SECTIONS } from './sections.mjs';
import { HOW_TO_INSTALL, obtainChromium } from './support/find-chromium.mjs';
import { obtainTemporal } from './support/obtain-temporal.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = join(ROOT, '.countersign', 'test-long');
const VERDICTS = join(FOLDER, 'verdicts.json');
/** Sections that run at once, if each leaves room for another. Any other runs alone, since it measures times or fills the machine. */
const ROOM = 2;

const HELP = `Tests at length the promises that \`npm test\` protects once, in sections; about an hour on two processors.

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

  const began = performance.now();
  const running = new Set();
  let room = ROOM;
  for (const [index, section] of sections.entries()) {
    if (verdicts[section.name]?.passed) {
      console.log(line(section, verdicts[section.name], 'before'));
      continue;
    }
    const needed = section.leavesRoom ? 1 : ROOM;
    while (room < needed) await Promise.race(running);
    console.log(`        ${section.name.padEnd(12)} ${section.what} (${index + 1} of ${sections.length}) …`);
    room -= needed;
    const run = runSection(section).then((verdict) => {
      verdicts[section.name] = verdict;
      writeFileSync(VERDICTS, JSON.stringify({ commit, verdicts }, null, 2));
      console.log(line(section, verdict));
      running.delete(run);
      room += needed;
    });
    running.add(run);
  }
  await Promise.all(running);

  const failed = sections.filter(({ name }) => !verdicts[name].passed).map(({ name }) => name);
  const took = minutes((performance.now() - began) / 1_000);
  console.log(`${sections.length - failed.length} of ${sections.length} sections passed, ${took}`);
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
