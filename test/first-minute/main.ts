import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { packagePath } from '../../apps/shared/config/files.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { launchBrowser } from '../support/chromium.ts';
import { stepsIn, type Step, type Story } from './steps.ts';
import { CommandFailed, Terminal } from './terminal.ts';

const GOAL_SECONDS = 60;

const HELP = `Does what a stranger does in the first minute, in an empty folder outside the checkout, with nothing but Node on the PATH:
starts the packed package, adds two real servers of npm (one by its command, one by its address), writes a rule, connects a stock
client, signs in with the browser, confirms a held call in the inbox, and receives the result. Prints each command, its output
and its time. Exit code 1 when a step fails.

  npm run test:first-minute                             packs the checkout first
  npm run test:first-minute -- --tarball <file>         a package that npm run package has made before
  npm run test:first-minute -- --within ${GOAL_SECONDS}              also fails when the first minute takes longer, in seconds

Needs a Chromium, and Temporal as the product finds it: on the PATH of the caller, or in the cache. The ports of the example
(4100 to 4104) have to be free. The time until the packages are there does not count. Nor does the end.
`;

const { values } = parseArgs({
  options: {
    tarball: { type: 'string' },
    within: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const print = (text = '') => process.stdout.write(`${text}\n`);
const say = (line: string) => process.stderr.write(`${line}\n`);

/** Puts the package beside the folder of the terminal: the one that is named, or the checkout, packed as `npm run package` does. */
function bringPackage({ root }: Terminal): string {
  if (values.tarball !== undefined) {
    const name = basename(values.tarball);
    copyFileSync(values.tarball, join(root, name));
    return name;
  }
  say('packing the checkout …');
  const args = ['run', '--silent', 'package', '--', '--pack-destination', root];
  execFileSync('npm', args, { cwd: packagePath(), stdio: ['ignore', 'ignore', 'inherit'] });
  const name = readdirSync(root).find((one) => one.endsWith('.tgz'));
  if (name === undefined) throw new CommandFailed('`npm run package` made no file');
  return name;
}

/** Takes a step, and prints it. Answers the seconds that it took. */
async function take(step: Step, story: Story): Promise<number> {
  print(`$ ${step.does}`);
  const began = performance.now();
  const said = await step.run(story);
  const seconds = (performance.now() - began) / 1_000;
  print(said.replace(/^\n+/, '').trimEnd().replaceAll(/^/gm, '  '));
  print(`  ${seconds.toFixed(1)} s${step.counts ? '' : ', not counted'}\n`);
  return seconds;
}

async function main(): Promise<boolean> {
  const terminal = new Terminal();
  const story: Story = {};
  let browser: Browser | undefined;
  try {
    const tarball = `../${bringPackage(terminal)}`;
    browser = await launchBrowser();
    let sum = 0;
    for (const step of stepsIn({ terminal, browser, tarball, port: await freePort() })) {
      const seconds = await take(step, story);
      if (step.counts) sum += seconds;
    }
    print(`first minute: ${sum.toFixed(1)} s of ${GOAL_SECONDS} s, after the packages are there`);
    return values.within === undefined || sum <= Number(values.within);
  } finally {
    await story.host?.close().catch(() => undefined);
    await browser?.close();
    await terminal.close();
  }
}

if (values.help) print(HELP.trimEnd());
else {
  const passed = await main().catch((error: unknown) => {
    if (!(error instanceof Error)) throw error;
    say(`FAILED  ${error instanceof CommandFailed ? error.message : (error.stack ?? error.message)}`);
    return false;
  });
  process.exitCode = passed ? 0 : 1;
}
