import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { listOpenRequests } from '../support/decisions.ts';
import type { Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';
import { NotHere, type Driver, type Host, type Row, type WayIn } from './row.ts';
import { RunningDriver } from './running.ts';
import type { Scene } from './scene.ts';

const CONTENT = 'Grüße';
/** Clients whose own limit is shorter than the wait of the gateway get this limit, in milliseconds. */
const LIMIT_MS = 60_000;
const PERSON = 'bob';

/** The files of one row. Each path is also the content of its file. */
interface Paths {
  readonly read: string;
  readonly inTime: string;
  readonly late: string;
}

/** Runs a client through all steps, and answers what came out. Leaves no open request and no process behind. */
export async function runRow(
  scene: Scene,
  host: Host,
  { wayIn, say }: { wayIn: WayIn; say: (line: string) => void },
): Promise<Row> {
  const date = new Date().toISOString().slice(0, 10);
  const known = { name: host.name, version: host.version, date, wayIn };
  scene.tap.forget();
  scene.person.fault = undefined;
  try {
    await drive(scene, host, { wayIn, driver: await host.install({ say }) });
    const { clientName, revision, asksForProgress = false } = scene.tap.seen;
    return {
      ...known,
      outcome: 'passed',
      asksForProgress,
      ...(clientName && { clientName }),
      ...(revision && { revision }),
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { ...known, outcome: error instanceof NotHere ? 'not run' : 'failed', reason };
  } finally {
    scene.person.onReturn = () => undefined;
    await denyAll(scene.stack);
  }
}

async function drive(scene: Scene, host: Host, { wayIn, driver }: { wayIn: WayIn; driver: Driver }): Promise<void> {
  const { person, stack } = scene;
  const asked = person.asked;
  const at = (name: string) => join(stack.files, `${host.name}-${name}.txt`);
  const paths: Paths = { read: at('read'), inTime: at('in-time'), late: at('late') };
  for (const path of [paths.inTime, paths.late]) assert.equal(writes(stack, path), 0, `${host.name} ran before`);
  writeFileSync(paths.read, CONTENT);
  const running = new RunningDriver(driver, await surroundings(scene, host, { wayIn, driver, paths }), (url) => {
    void person.open(url);
  });
  person.onReturn = (address) => running.write(address);
  try {
    await takeSteps(scene, host, { running, paths });
    assert.equal(person.asked - asked, wayIn === 'token' ? 0 : 1, 'the number of times that the person was asked');
  } catch (error) {
    if (person.fault === undefined) throw error;
    throw new Error(`${String(error)}\nthe person: ${person.fault}`, { cause: error });
  } finally {
    running.stop();
  }
}

async function takeSteps(
  scene: Scene,
  host: Host,
  { running, paths }: { running: RunningDriver; paths: Paths },
): Promise<void> {
  const { stack } = scene;
  const tools = await running.next('tools');
  for (const tool of ['files__write_file', 'get_request_status'])
    assert.ok(words(tools).includes(tool), `${tool} is not listed: ${words(tools)}`);
  assert.match(words(await running.next('allowed')), new RegExp(CONTENT));

  if (host.isInTerminal) await assertAsked(scene, running, ['accept']);
  await approve(stack, running, paths.inTime);
  assertRan(stack, await running.next('in-time'), paths.inTime);
  await (host.isInTerminal
    ? approveWhileClosed(scene, running, paths.late)
    : approveLate(stack, host, running, paths.late));
  assertRan(stack, await running.next('ended'), paths.late);
  await running.ended();
}

async function approveLate(stack: Stack, { holds }: Host, running: RunningDriver, path: string): Promise<void> {
  const open = await running.while(stack.openRequests(1));
  const late = holds === 'task' ? undefined : words(await running.next('late'));
  if (holds === 'give up') assert.match(late ?? '', /tim(ed|e) ?out/i);
  if (holds === 'wait') assertTold(late ?? '', `${stack.config.urls.approvals}/requests/${open[0]?.id}`);
  await approve(stack, running, path);
}

/** The program is closed while its call waits, and learns of the result after it is opened again. */
async function approveWhileClosed(scene: Scene, running: RunningDriver, path: string): Promise<void> {
  await assertAsked(scene, running, ['accept', 'decline']);
  await running.next('closed');
  await approve(scene.stack, running, path);
  await running.while(waitFor(() => writes(scene.stack, path) > 0));
  running.write('open it again');
}

/**
 * The person was shown the page of the held call without asking for it, and saw the result of another call meanwhile.
 * Their answer reached the gateway, and decided nothing.
 */
async function assertAsked({ stack, tap }: Scene, running: RunningDriver, answers: readonly string[]): Promise<void> {
  const shown = words(await running.next('asked'));
  assert.match(shown, new RegExp(`/calls/req_[0-9a-f]{32}`));
  assert.match(shown, new RegExp(CONTENT));
  assert.deepEqual(tap.seen.tools.slice(-2), ['files__write_file', 'files__read_text_file']);
  await running.next('answered');
  await running.while(waitFor(() => tap.seen.answers.length === answers.length));
  assert.deepEqual(tap.seen.answers, answers);
  await running.while(stack.openRequests(1));
}

/** The words after the wait: nothing ran, where a person approves the call, and how the client learns of its end. */
function assertTold(late: string, page: string): void {
  assert.match(late, /has not run/);
  assert.match(late, /get_request_status/);
  assert.ok(late.includes(page), `the answer does not name ${page}: ${late}`);
}

/** Approves the open request, before which the tool has not run. */
async function approve(stack: Stack, running: RunningDriver, path: string): Promise<void> {
  const [request] = await running.while(stack.openRequests(1));
  assert.equal(writes(stack, path), 0, 'the tool ran before it was approved');
  assert.equal((await stack.decide(request, { verdict: 'approve' })).status, 200);
}

/** The client has the result, and the tool ran exactly once. */
function assertRan(stack: Stack, said: unknown, path: string): void {
  assert.match(words(said), /Successfully wrote/);
  assert.equal(writes(stack, path), 1, `the tool ran ${writes(stack, path)} times`);
}

const writes = (stack: Stack, path: string) =>
  stack.upstreamCalls().filter((call) => call.arguments['path'] === path).length;
const words = (said: unknown) => (typeof said === 'string' ? said : (JSON.stringify(said) ?? ''));

/** Where the driver of a program in a terminal leaves what a person sees, as `<state>.txt`. */
export const screensOf = (folder: string, { name }: Pick<Host, 'name'>) => join(folder, name, 'screens');

/** The folder and the variables of a driver: nothing of this machine's user, and no proxy. */
async function surroundings(
  { stack, documents, person, folder }: Scene,
  host: Host,
  { wayIn, driver, paths }: { wayIn: WayIn; driver: Driver; paths: Paths },
) {
  const home = join(folder, host.name);
  const programs = join(home, 'bin');
  mkdirSync(programs, { recursive: true });
  const { PATH = '', LANG = 'C.UTF-8' } = process.env;
  const env = {
    ...{
      HOME: home,
      LANG,
      PATH: `${programs}:${PATH}`,
      PYTHONDONTWRITEBYTECODE: '1',
      BROWSER: person.writeBrowser(programs),
    },
    ...{
      XDG_CONFIG_HOME: join(home, 'config'),
      XDG_DATA_HOME: join(home, 'data'),
      XDG_CACHE_HOME: join(home, 'cache'),
    },
    HOST_URL: stack.config.urls.mcp,
    HOST_WAY_IN: wayIn,
    ...(wayIn === 'token' && { HOST_TOKEN: await stack.token(PERSON) }),
    ...(wayIn === 'document' && { HOST_DOCUMENT: documents.serve(`/hosts/${host.name}.json`, documentOf(host)) }),
    HOST_REDIRECT: person.redirect,
    HOST_CALLBACK_PORT: String(await freePort()),
    HOST_READ: paths.read,
    HOST_WRITE_IN_TIME: paths.inTime,
    HOST_WRITE_LATE: paths.late,
    HOST_LIMIT_MS: String(LIMIT_MS),
    HOST_SCREENS: screensOf(folder, host),
    ...driver.env,
  };
  return { cwd: home, env };
}

const documentOf = ({ title }: Host) => ({
  client_name: title,
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  redirect_uris: ['127.0.0.1', 'localhost'].flatMap((name) =>
    ['/callback', '/oauth/callback'].map((path) => `http://${name}${path}`),
  ),
});

/** A row that failed leaves no request to the next one. */
async function denyAll(stack: Stack): Promise<void> {
  await waitFor(async () => {
    const open = await listOpenRequests(stack.config.urls.approvals, await stack.token('alice', 'approvals'));
    for (const request of open) await stack.decide(request, { verdict: 'deny' });
    return open.length === 0;
  });
}
