import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { FakeModel } from '../model/fake-model.ts';

/** A variable that the harness gives. */
export function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is missing: the harness starts this program`);
  return value;
}

export const HOME = given('HOME');
/** The pasted token, if there is one. */
export const TOKEN = process.env['HOST_TOKEN'];

/** Prints a line of the contract. */
export function say(line: { readonly at: string; readonly [more: string]: unknown }): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

export interface Run {
  readonly env?: Readonly<Record<string, string>>;
  /** Gets all that the program prints, as it comes, and a way to type. */
  readonly onText?: (text: string, type: (keys: string) => void) => void;
}

/** Runs a program to its end, and answers its standard output. Throws with all that it printed if it fails. */
export function run(command: string, args: readonly string[], { env, onText }: Run = {}): Promise<string> {
  const child = spawn(command, [...args], { env: { ...process.env, ...env } });
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text;
      onText?.(text, (keys) => child.stdin.write(keys));
    });
  // Some programs read their standard input to its end before they begin.
  if (onText === undefined) child.stdin.end();
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) return resolve(printed.stdout);
      reject(new Error(`${command} ${args.join(' ')} ended with ${code}: ${printed.stdout}${printed.stderr}`));
    });
  });
}

/** Puts Countersign into the file of a host, as its users do. */
export async function connect(host: string): Promise<void> {
  const program = packagePath('dist', 'apps', 'cli', 'main.js');
  await run(process.execPath, [program, 'connect', host, '--url', given('HOST_URL'), '--yes']);
}

/** Gives the pasted token to the server that `connect` wrote into a file of JSON. */
export function pasteToken(file: string): void {
  const content = JSON.parse(readFileSync(file, 'utf8')) as { mcpServers: { countersign: { headers?: object } } };
  content.mcpServers.countersign.headers = { Authorization: `Bearer ${TOKEN}` };
  writeFileSync(file, JSON.stringify(content, null, 2));
}

/** Tasks that the model understands: see `replyTo`. */
export const LIST = 'List your tools';
const wordsFor = (tool: string, args: object) => `Call the tool ${tool} with ${JSON.stringify(args)}`;
export const wordsToRead = () => wordsFor('files__read_text_file', { path: given('HOST_READ') });
export const wordsToWrite = (path: string) => wordsFor('files__write_file', { path, content: path });

/** The reference in an answer that says that the tool has not run. */
const openIn = (said: string): string | undefined =>
  said.includes('has not run') ? /req_[0-9a-f]{32}/.exec(said)?.[0] : undefined;

/** Takes all steps after the sign-in. `ask` gives the host a task in words, and answers what the host prints in the end. */
export async function takeSteps(ask: (words: string) => Promise<string>): Promise<void> {
  say({ at: 'tools', said: await ask(LIST) });
  say({ at: 'allowed', said: await ask(wordsToRead()) });
  say({ at: 'in-time', said: await ask(wordsToWrite(given('HOST_WRITE_IN_TIME'))) });
  let said = await ask(wordsToWrite(given('HOST_WRITE_LATE')));
  say({ at: 'late', said });
  for (let reference = openIn(said); reference !== undefined; reference = openIn(said))
    said = await ask(wordsFor('get_request_status', { reference }));
  say({ at: 'ended', said });
}

/** Runs a driver beside a model, whose address it gets. */
export async function drive(work: (modelUrl: string) => Promise<void>): Promise<void> {
  const model = await new FakeModel().start();
  try {
    await work(model.url);
  } catch (error) {
    say({ at: 'failed', error: error instanceof Error ? error.stack : String(error) });
  } finally {
    process.stderr.write(`unknown to the model: ${model.unknown.join(', ')}\n`);
    await model.stop();
  }
}
