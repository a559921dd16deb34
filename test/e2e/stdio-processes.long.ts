import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { TokenFile } from '../../apps/cli/stdio/token-file.ts';
import { launchBrowser } from '../support/chromium.ts';
import { clientInfo } from '../support/foreign-clients.ts';
import { REVISION } from '../support/gateway-wire.ts';
import { startStack } from '../support/stack.ts';
import { SignInDesk } from '../support/stdio-sign-in.ts';
import { StdioProgram } from '../support/stdio-program.ts';
import { patiently, waitFor } from '../support/wait-for.ts';

const RELAYS = 20;
const REQUEST = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })}\n`;

const desk = new SignInDesk();
let program!: StdioProgram;
let file!: TokenFile;
beforeAll(async () => {
  await desk.start();
  program = new StdioProgram({});
  file = new TokenFile(desk.url, program.server().env);
});
afterAll(() => desk.stop());

/** Relays that start at the same moment, each with one request. */
function startRelays(count: number): { child: ChildProcess; answer: Promise<string>; said: Promise<string> }[] {
  const { command, args, env } = program.server('--url', desk.url);
  return Array.from({ length: count }, () => {
    const child = spawn(command, args, { env, stdio: 'pipe' });
    let out = '';
    child.stdout.on('data', (chunk) => (out += String(chunk)));
    child.stdin.write(REQUEST);
    return {
      child,
      said: text(child.stderr),
      answer: waitFor(() => (hasEnded(child) || out.includes('\n') ? `${out} ` : '')),
    };
  });
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

/** The host closes its side, and the relay ends. */
async function end(relays: ReturnType<typeof startRelays>): Promise<void> {
  for (const { child } of relays) child.stdin?.end();
  await waitFor(() => relays.every(({ child }) => child.exitCode === 0));
}
const refreshTokens = () => Object.keys(desk.issuer.kept.refreshTokens).length;

it('twenty relays without a token open one window, and all go on after the press', async () => {
  const relays = startRelays(RELAYS);
  const address = await waitFor(() => program.opened[0]);
  await desk.press()(address);
  const answers = await Promise.all(relays.map(({ answer }) => answer));
  expect(new Set(answers)).toEqual(new Set(['{"jsonrpc":"2.0","id":1,"result":{}}\n ']));
  await end(relays);
  expect(program.opened).toHaveLength(1);
  expect(Object.keys(desk.issuer.kept.clients)).toHaveLength(1);
});

it('twenty relays with an expired token refresh it once', async () => {
  const old = file.read()?.tokens?.access_token;
  const before = refreshTokens();
  desk.accepts = (token) => token !== old;
  const relays = startRelays(RELAYS);
  const answers = await Promise.all(relays.map(({ answer }) => answer));
  expect(new Set(answers)).toEqual(new Set(['{"jsonrpc":"2.0","id":1,"result":{}}\n ']));
  await end(relays);
  // Used tokens stay on record, so each refresh adds one.
  expect(refreshTokens() - before).toBe(1);
  expect(program.opened).toHaveLength(1);
  for (const said of await Promise.all(relays.map(({ said }) => said))) expect(said).toBe('');
});

it('a relay that is killed while it refreshes keeps no other from it', async () => {
  const old = file.read()?.tokens?.access_token;
  desk.accepts = (token) => token !== old;
  await file.alone(async () => {
    const [victim] = startRelays(1);
    await waitFor(() => readdirSync(dirname(file.path)).some((name) => name.includes('.lock.')) || victim?.child.pid);
    victim?.child.kill('SIGKILL');
    await victim?.answer;
    expect(victim?.child.signalCode).toBe('SIGKILL');
  }, 1_000);
  const relays = startRelays(3);
  await Promise.all(relays.map(({ answer }) => answer));
  await end(relays);
  expect(existsSync(`${file.path}.lock`)).toBe(false);
  expect(program.opened).toHaveLength(1);
});

it('a host goes on with a product that was killed and started again', async () => {
  const stack = await startStack({ parts: 'together', servers: 'shared' });
  const browser = await launchBrowser();
  const config = join(stack.folder, 'countersign.yaml');
  const own = new StdioProgram({ COUNTERSIGN_CONFIG: config, COUNTERSIGN_STATE: stack.stateDir });
  const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: REVISION } } });
  try {
    const connecting = client.connect(new StdioClientTransport(own.server()));
    await own.signIn(browser, 'Bob Approver');
    await connecting;
    await stack.kill('up');
    const look = { name: 'files__list_directory', arguments: { path: stack.files } };
    // Its first answers may ask to repeat the call.
    const answer = patiently(() => client.callTool(look, { timeout: 240_000 }));
    answer.catch(() => undefined);
    await stack.startPart('up');
    expect(await answer).toMatchObject({ content: [{ type: 'text' }] });
    expect(own.opened).toHaveLength(1);
  } finally {
    await client.close();
    await browser.close();
    await stack.stop();
  }
});
