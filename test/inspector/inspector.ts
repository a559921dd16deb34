import { spawn } from 'node:child_process';
import type { ForeignPrograms } from '../support/foreign.ts';

const RUN_LIMIT_MS = 60_000;
/** The Inspector's names for the protocol with a handshake, and without one. */
export const ERAS = ['legacy', 'modern'] as const;
export type Era = (typeof ERAS)[number];

/** The result of one run of its command line. */
export interface Said {
  readonly exitCode: number | null;
  /** Its output for programs, on each of the two streams. */
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: string; readonly message: string };
  /** All its output for people and programs. */
  readonly text: string;
}

/** Has the Inspector connect, ask one method and leave. `args` are options of its command line. */
export type Ask = (method: string, ...args: string[]) => Promise<Said>;

/** Its command line against a server, without state from other runs: `home` is an empty folder. */
export function inspectorOf(
  programs: ForeignPrograms,
  { url, token, era, home }: { url: string; token: string; era: Era; home: string },
): Ask {
  const script = programs.path('@modelcontextprotocol/inspector', 'clients', 'cli', 'build', 'index.js');
  const server = ['--server-url', url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`];
  const form = ['--protocol-era', era, '--stored-auth-only', '--format', 'json', '--quiet'];
  return (method, ...args) =>
    new Promise((resolve, reject) => {
      const child = spawn(programs.node, [script, ...server, ...form, '--method', method, ...args], {
        cwd: home,
        env: { HOME: home },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: RUN_LIMIT_MS,
      });
      const said = { stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr'] as const) {
        child[name].setEncoding('utf8').on('data', (part: string) => (said[name] += part));
      }
      child.once('error', reject);
      child.once('close', (exitCode) => resolve(read(exitCode, said)));
    });
}

/** It writes an object with the result in one line, one with the error in another, and hints for people beside them. */
function read(exitCode: number | null, { stdout, stderr }: { stdout: string; stderr: string }): Said {
  const objects = `${stdout}\n${stderr}`.split('\n').filter((line) => /^[{]"(result|error)":/.test(line));
  const parts = objects.map((line) => JSON.parse(line) as Partial<Said>);
  return Object.assign({ exitCode, text: `${stdout}${stderr}` }, ...parts) as Said;
}
