/** A gateway that allows every call, before upstreams that ask the clients of sessions as far as their operator lets them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packagePath } from '../../apps/shared/config/files.ts';
import { AskingServer } from './asking-server.ts';
import { startConversingUpstream } from './conversing-upstream.ts';
import { startRealGateway } from './real-gateway.ts';
import { EVERYTHING } from './relaying-gateway.ts';
import { beginSession, type WireSession } from './session-wire.ts';

const PROGRAM = { command: process.execPath, args: [packagePath('test', 'clients', 'fixtures', 'asking-program.mjs')] };
const FILE_SERVER = packagePath('node_modules', '@modelcontextprotocol', 'server-filesystem', 'dist', 'index.js');

/** Results of the tool `up__hold` are withheld. */
export async function startAskingGateway() {
  const folder = mkdtempSync(join(tmpdir(), 'asking-'));
  const [server, present] = await Promise.all([new AskingServer().start(), startConversingUpstream()]);
  const serversWith = (more: object = {}) => ({
    up: { url: server.url, ...more },
    rooted: { url: server.url, asks: ['roots'] },
    present: { url: present.url, asks: ['sampling'] },
    silent: PROGRAM,
    program: { ...PROGRAM, asks: ['elicitation'] },
    files: { command: process.execPath, args: [FILE_SERVER, folder], asks: ['roots'] },
  });
  const tools = { up__hold: { resultSensitivity: 'restricted' } };
  const real = await startRealGateway({ redactAbove: 'internal' }, { mcpServers: serversWith(), tools });
  const sessions: WireSession[] = [];
  const tokenOf = (sub: string) => real.authority.token({ aud: real.mcpUrl, sub });
  return {
    ...{ folder, server, present, real, tokenOf },
    /** Puts other settings of the server `up` in force. */
    change: (more?: object) => real.change({ mcpServers: serversWith(more) }),
    async begin({ sub = 'alice', ...options }: Parameters<typeof beginSession>[1] & { sub?: string } = {}) {
      const token = await tokenOf(sub);
      const session = await beginSession(real, { capabilities: EVERYTHING, token, ...options });
      sessions.push(session);
      return session;
    },
    reset(): void {
      real.authority.decide = () => ({ decision: true });
      server.reset();
      present.reset();
    },
    /** Ends all sessions. */
    async end(): Promise<void> {
      server.release();
      for (const session of sessions.splice(0)) await session.end();
    },
    async stop(): Promise<void> {
      await real.stop();
      await server.close();
      await present.close();
      rmSync(folder, { recursive: true });
    },
  };
}
