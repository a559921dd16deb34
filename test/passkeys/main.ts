import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { packagePath } from '../../apps/shared/config/files.ts';
import { pythonWith } from '../hosts/install/python.ts';
import { withOwnServers } from '../support/own-servers.ts';
import { startRecordedCalls } from '../support/recorded-calls.ts';
import { forgeries } from './forgeries.ts';

const HELP = `Has a call approved with a passkey, and verifies the signature in its record with py_webauthn, which shares no code with the
product. Then alters the record in every way that matters: each alteration must be found. Needs python3 (3.11 or newer), and fetches
the packages of test/foreign/passkeys once. Exit code 1 when a record was judged wrongly.

  npm run test:passkeys
`;

const {
  values: { help },
} = parseArgs({ options: { help: { type: 'boolean' } } });

const say = (line: string) => process.stderr.write(`${line}\n`);
const print = (line: string) => process.stdout.write(`${line}\n`);

/** Whether the verifier finds the record proven. */
async function isProven(python: string, record: unknown, { rpId, origin }: Site): Promise<boolean> {
  const program = packagePath('test', 'passkeys', 'verify.py');
  const child = spawn(python, [program, '--rp-id', rpId, '--origin', origin], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(record));
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const said = (await text(child.stdout)).trim();
  const found = await code;
  if (!/^(proven|NOT PROVEN): /.test(said)) throw new Error(`the verifier ended with ${found}: ${said}`);
  return found === 0;
}

interface Site {
  readonly rpId: string;
  readonly origin: string;
}

/** Whether the verifier judged the record and all forgeries as it must. */
async function run(): Promise<boolean> {
  const python = await pythonWith('passkeys', say);
  say('starting the product …');
  const world = await startRecordedCalls();
  try {
    const { taskId, request } = await world.held('signed');
    const { origin } = await world.voteWithPasskey('alice', request);
    const record = await world.record(taskId);
    const site = { rpId: 'localhost', origin };
    const judged = [
      { name: 'the record as it is', ...site, record, isGood: true },
      { name: 'another relying party', ...site, record, rpId: 'example', isGood: false },
      { name: 'another site', ...site, record, origin: 'https://countersign.example', isGood: false },
      ...forgeries(record).map((one) => ({ ...one, ...site, isGood: false })),
    ];
    let wrong = 0;
    for (const { name, isGood, record: shown, ...at } of judged) {
      const found = await isProven(python, shown, at);
      wrong += found === isGood ? 0 : 1;
      print(`${found === isGood ? 'ok      ' : 'WRONG   '}${name}: ${found ? 'proven' : 'not proven'}`);
    }
    print(`${judged.length - wrong}/${judged.length} judged as they must be`);
    return wrong === 0;
  } finally {
    await world.stop();
  }
}

if (help === true) process.stdout.write(HELP);
else if (!(await withOwnServers(run))) process.exitCode = 1;
