import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { installForeign } from '../support/foreign.ts';
import { EVERYTHING } from '../support/stack-config.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';
import { ERAS, inspectorOf } from './inspector.ts';
import { STEPS, type Scene } from './steps.ts';

const HELP = `Drives the whole product with the command line of the MCP Inspector (@modelcontextprotocol/inspector), in both eras of the
protocol that it speaks: "legacy" is the revision 2025-11-25, "modern" is 2026-07-28. Prints each step and a score; exit code 1 when a
step failed. Brings the Inspector, and a newer Node.js for it, into the cache once.

  npm run test:inspector                    both, about a minute
  npm run test:inspector -- --era legacy    only one of them
`;

const {
  values: { era: chosen, help },
} = parseArgs({ options: { era: { type: 'string' }, help: { type: 'boolean' } } });

const say = (line: string) => process.stderr.write(`${line}\n`);
const print = (line = '') => process.stdout.write(`${line}\n`);

/** Takes all steps of an era, prints the outcome of each, and answers whether all succeeded. */
async function runEra(scene: Scene): Promise<boolean> {
  const steps = STEPS.filter(({ era = scene.era }) => era === scene.era);
  let succeeded = 0;
  for (const { name, run } of steps) {
    const failure = await run(scene).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    succeeded += failure === undefined ? 1 : 0;
    print(`${scene.era.padEnd(8)}${failure === undefined ? 'ok      ' : 'FAILED  '}${name}`);
    if (failure !== undefined) print(failure.replaceAll(/^/gm, '          '));
  }
  print(`${scene.era.padEnd(8)}${succeeded}/${steps.length}\n`);
  return succeeded === steps.length;
}

async function runAll(stack: Stack, home: string): Promise<boolean> {
  const programs = await installForeign('inspector', say);
  const { mcp: url } = stack.config.urls;
  let isGood = true;
  for (const era of ERAS.filter((one) => one === (chosen ?? one))) {
    const ask = inspectorOf(programs, { url, token: await stack.token('agent'), era, home });
    // The gateway answers already while it connects to upstreams.
    await waitFor(async () => (await ask('tools/list')).text.includes('everything__echo'));
    isGood = (await runEra({ era, ask, stack })) && isGood;
  }
  return isGood;
}

async function main(): Promise<boolean> {
  if (chosen !== undefined && !ERAS.some((era) => era === chosen)) throw new Error(`there is no era ${chosen}`);
  say('starting the product …');
  const stack = await startStack({
    parts: 'together',
    // The Inspector takes each step by itself.
    config: { gateway: { requestByItself: false, waitSeconds: 0 } },
    mcpServers: { everything: EVERYTHING },
  });
  const home = mkdtempSync(join(tmpdir(), 'countersign-inspector-'));
  try {
    return await runAll(stack, home);
  } finally {
    await stack.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

if (help) print(HELP);
else process.exitCode = (await main()) ? 0 : 1;
