import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { checkOpenFiles } from '../../../../apps/cli/commands/doctor/machine.ts';
import { packagePath } from '../../../../apps/shared/config/files.ts';
import { patiently } from '../../../support/wait-for.ts';

const FILES = 200;
/** Files that the process needs for itself. */
const OWN = 30;
const SCRIPT = `import { systemClock } from './apps/shared/clock.ts';
  import { listen } from './apps/shared/http/listen.ts';
  import { limitsOf } from './apps/shared/limits.ts';
  import { closeSync, openSync } from 'node:fs';
  const time = { clock: systemClock, limits: limitsOf({ timeLimitFactor: 100 }) };
  const app = (request, response) => {
    closeSync(openSync('/dev/null', 'r'));
    response.end('true');
  };
  const { url } = await listen(app, { host: '127.0.0.1', port: 0, ...time });
  process.on('SIGUSR2', () => {
    try {
      const files = Array.from({ length: ${OWN} }, () => openSync('/dev/null', 'r'));
      files.forEach((file) => closeSync(file));
      process.stdout.write('room');
    } catch (error) {
      process.stdout.write(error.code);
    }
  });
  process.stdout.write(url);`;

const ending: (() => void)[] = [];
afterEach(() => ending.splice(0).forEach((end) => end()));

/** A server in a process that may open few files. It opens one for each answer. */
async function serve(): Promise<{ readonly url: string; readonly openOwnFiles: () => Promise<string> }> {
  const node = [process.execPath, '--no-warnings', '--import', './test/support/typescript.mjs', '--input-type=module'];
  const command = `ulimit -n ${FILES}; exec "$@"`;
  const args = ['-c', command, 'sh', ...node, '--eval', SCRIPT];
  const child = spawn('sh', args, { cwd: packagePath(), stdio: ['ignore', 'pipe', 'inherit'] });
  ending.push(() => void child.kill('SIGKILL'));
  const said = async () => String(((await once(child.stdout, 'data')) as [Buffer])[0]);
  const url = await said();
  const openOwnFiles = () => {
    child.kill('SIGUSR2');
    return said();
  };
  return { url, openOwnFiles };
}

/** Connections that a client opens and sends nothing over, or one request. */
function crowd(url: string, count: number, sent = ''): Socket[] {
  const { port } = new URL(url);
  const sockets = Array.from({ length: count }, () => connect(Number(port), '127.0.0.1').on('error', () => undefined));
  for (const socket of sockets) socket.write(sent);
  ending.push(() => sockets.forEach((socket) => void socket.destroy()));
  return sockets;
}

const answer = (url: string) => fetch(url, { headers: { connection: 'close' } }).then((found) => found.text());

describe('a process that may open few files', () => {
  it('keeps enough of them for its own work, and refuses further clients until there is room', async () => {
    const { url, openOwnFiles } = await serve();
    const silent = crowd(url, 2 * FILES);
    const refused = () => silent.filter((socket) => socket.closed).length;
    await patiently(async () => (refused() >= FILES ? true : undefined));
    expect(await openOwnFiles()).toBe('room');
    silent.forEach((socket) => void socket.destroy());
    expect(await patiently(() => answer(url).catch(() => undefined))).toBe('true');
  });

  it('closes idle connections of clients to make room for others', async () => {
    const { url } = await serve();
    const idle = crowd(url, FILES / 2, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await Promise.all(idle.map((socket) => once(socket, 'data')));
    expect(await patiently(() => answer(url).catch(() => undefined))).toBe('true');
  });
});

it('doctor warns of a limit that few clients reach', () => {
  expect(checkOpenFiles(1_024)).toMatchObject({ status: 'warn', advice: expect.stringContaining('ulimit -n') });
  expect([checkOpenFiles(undefined), checkOpenFiles(65_536)]).toMatchObject([{ status: 'ok' }, { status: 'ok' }]);
});
