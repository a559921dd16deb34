import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { installForeign } from '../support/foreign.ts';
import { waitFor } from '../support/wait-for.ts';

const PROGRAM = packagePath('node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js');

/** The real `server-everything` over Streamable HTTP in a process of its own. */
export async function startEverythingServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort();
  const child = spawn(process.execPath, [PROGRAM, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // The server says on stderr that it listens; no client can connect before that.
  await once(child.stderr, 'data');
  child.stderr.resume();
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

/**
 * The same server behind `mcp-proxy`, which hands every call on without inspecting it: the cost of any process in
 * between. The proxy reaches its server over standard input and output, the only way it supports.
 */
export async function startBareProxy(say: (line: string) => void): Promise<{ url: string; stop(): Promise<void> }> {
  const programs = await installForeign('mcp-proxy', say);
  const port = await freePort();
  const options = ['--port', String(port), '--host', '127.0.0.1', '--server', 'stream'];
  const proxy = programs.path('mcp-proxy', 'dist', 'bin', 'mcp-proxy.mjs');
  const child = spawn(process.execPath, [proxy, ...options, '--', process.execPath, PROGRAM, 'stdio'], {
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  await waitFor(() =>
    fetch(url).then(
      () => true,
      () => child.exitCode !== null,
    ),
  );
  if (child.exitCode !== null) throw new Error(`mcp-proxy ended with ${child.exitCode}`);
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
