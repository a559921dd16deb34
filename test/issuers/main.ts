import { parseArgs } from 'node:util';
import { KEYCLOAK_VERSION, NoKeycloak, obtainKeycloak } from './obtain-keycloak.ts';
import { openScene, type Scene } from './scene.ts';
import type { Step, Story } from './step.ts';
import { STEPS } from './steps.ts';

const HELP = `Runs the whole product with Keycloak ${KEYCLOAK_VERSION} as its issuer: agents, an MCP host, \`countersign stdio\`, people in a
browser, and \`doctor\`. Keycloak gets the realm of docs/issuers/keycloak-realm.json. Prints each step with its time, and a score; exit
code 1 when a step failed. Needs java (17 or later), a Chromium, and mvn for the first run, which fetches Keycloak into the cache.

  npm run test:issuers
`;

const { values } = parseArgs({ options: { help: { type: 'boolean', default: false } } });

const say = (line: string) => process.stderr.write(`${line}\n`);
const print = (line = '') => process.stdout.write(`${line}\n`);
const since = (began: number) => `${((performance.now() - began) / 1_000).toFixed(1)} s`;

/** Takes a step and prints its outcome; answers whether it succeeded. */
async function take(step: Step, scene: Scene, story: Story): Promise<boolean> {
  const began = performance.now();
  const failure = await step.run(scene, story).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error)),
  );
  print(`${failure === undefined ? 'ok    ' : 'FAILED'}  ${since(began).padStart(7)}  ${step.name}`);
  if (failure !== undefined) print(failure.replaceAll(/^/gm, '                 '));
  return failure === undefined;
}

async function main(): Promise<boolean> {
  const began = performance.now();
  const distribution = await obtainKeycloak(say);
  say(`starting Keycloak ${KEYCLOAK_VERSION} and the product …`);
  const scene = await openScene(distribution);
  say(`started in ${since(began)}`);
  const story: Story = {};
  try {
    let succeeded = 0;
    for (const step of STEPS) succeeded += (await take(step, scene, story)) ? 1 : 0;
    print(`${succeeded} of ${STEPS.length} steps with Keycloak ${KEYCLOAK_VERSION}, ${since(began)}`);
    return succeeded === STEPS.length;
  } finally {
    await story.launching?.stop().catch((error: unknown) => say(String(error)));
    await scene.stop();
    await story.host?.stop();
  }
}

if (values.help) print(HELP.trimEnd());
else {
  const passed = await main().catch((error: unknown) => {
    if (!(error instanceof NoKeycloak)) throw error;
    say(error.message);
    return false;
  });
  process.exitCode = passed ? 0 : 1;
}
