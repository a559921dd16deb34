import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { packagePath } from '../../apps/shared/config/package-root.ts';

/** The real `server-everything` over Streamable HTTP in a process of its own. */
export async function startEverythingServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort();
  const program = packagePath('node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js');
  const child = spawn(process.execPath, [program, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // It says on stderr that it listens; until then nobody can connect.
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
