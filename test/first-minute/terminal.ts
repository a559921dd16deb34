/** The machine of a stranger: an empty folder, an empty home beside caches, and a PATH on which only Node is. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { waitFor } from '../support/wait-for.ts';

/** What comes with Node, and what every system has: the shell by which npm starts programs, and `mkdir`. */
const PROGRAMS = ['node', 'npm', 'npx', 'sh', 'mkdir'];
/** For root, the embedded PostgreSQL starts by one of these. */
const PROGRAMS_OF_ROOT = ['unshare', 'id'];
/** How a machine reaches the registry. All other variables are absent. */
const PASSED_ON = /^(https?_proxy|no_proxy|node_extra_ca_certs|ssl_cert_file|ssl_cert_dir|npm_config_registry)$/i;
/** Installing packages over a slow network takes minutes. */
const LIMIT_MS = 600_000;

/** A command that has ended, or that is ready and goes on. */
export interface Said {
  readonly out: string;
  readonly err: string;
}

/** A command that did not do what a stranger needs. The message has its whole output. */
export class CommandFailed extends Error {}

export class Terminal {
  /** Has the folder of the stranger, and beside it what the stranger downloaded. */
  readonly root = mkdtempSync(join(tmpdir(), 'countersign-first-minute-'));
  readonly folder = join(this.root, 'empty');
  readonly #home = join(this.root, 'home');
  readonly #programs = join(this.root, 'programs');
  readonly #running: Command[] = [];

  constructor() {
    for (const folder of [this.folder, this.#home, this.#programs, join(this.#home, '.npm')]) mkdirSync(folder);
    const names = [...PROGRAMS, ...(process.getuid?.() === 0 ? PROGRAMS_OF_ROOT : [])];
    for (const name of names) symlinkSync(programCalled(name), join(this.#programs, name));
    this.#link(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'countersign', '.cache');
    // Downloads only: each program of npx is installed anew.
    this.#link(process.env['npm_config_cache'] ?? join(homedir(), '.npm'), '_cacache', '.npm');
  }

  /** Runs a command to its end. Throws `CommandFailed` unless it succeeds. */
  async run(line: string): Promise<Said> {
    const command = this.#start(line);
    const code = await command.ended;
    if (code !== 0) throw command.failure(`ended with ${code}`);
    return command.said;
  }

  /** Starts a command that goes on, and waits for a text of it. Throws `CommandFailed` if it ends before. */
  async start(line: string, text: string): Promise<Command> {
    const command = this.#start(line);
    this.#running.push(command);
    await command.says(text);
    return command;
  }

  /** Ends all that still runs, and deletes everything. */
  async close(): Promise<void> {
    await Promise.all(this.#running.map((command) => command.interrupt()));
    rmSync(this.root, { recursive: true, force: true });
  }

  #start(line: string): Command {
    const passed = Object.entries(process.env).filter(([name]) => PASSED_ON.test(name));
    const env = { ...Object.fromEntries(passed), PATH: this.#programs, HOME: this.#home };
    return new Command(line, { cwd: this.folder, env });
  }

  #link(from: string, name: string, folder: string): void {
    if (!existsSync(join(from, name))) return;
    mkdirSync(join(this.#home, folder), { recursive: true });
    symlinkSync(join(from, name), join(this.#home, folder, name));
  }
}

function programCalled(name: string): string {
  const folders = [dirname(process.execPath), ...(process.env['PATH'] ?? '').split(delimiter)];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found === undefined) throw new CommandFailed(`${name} is not on the PATH; it comes with Node.js or the system`);
  return realpathSync(found);
}

/** A command in the shell, with a process group of its own, as a terminal gives it one. */
export class Command {
  readonly said = { out: '', err: '' };
  /** The exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  readonly #line: string;
  readonly #child: ChildProcess;
  #hasEnded = false;

  constructor(line: string, at: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
    this.#line = line;
    this.#child = spawn('/bin/sh', ['-c', line], { ...at, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child.stdout?.setEncoding('utf8').on('data', (part: string) => (this.said.out += part));
    this.#child.stderr?.setEncoding('utf8').on('data', (part: string) => (this.said.err += part));
    this.ended = once(this.#child, 'close').then(([code, signal]) => {
      this.#hasEnded = true;
      return (code ?? signal) as number | NodeJS.Signals | null;
    });
  }

  /** Waits for a text in its output; on stderr, behind this place. */
  async says(text: string, from = 0): Promise<void> {
    const found = () => this.said.out.includes(text) || this.said.err.includes(text, from);
    await waitFor(() => found() || this.#hasEnded, { timeoutMs: LIMIT_MS }).catch(() => undefined);
    if (found()) return;
    throw this.failure(this.#hasEnded ? `ended before it said "${text}"` : `did not say "${text}"`);
  }

  /** Ctrl-C: a signal to the command and all that it started. Waits for its end. */
  async interrupt(): Promise<void> {
    if (!this.#hasEnded && this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGINT');
    await this.ended;
  }

  failure(how: string): CommandFailed {
    const { out, err } = this.said;
    return new CommandFailed([`\`${this.#line}\` ${how}. Its output:`, err.trimEnd(), out.trimEnd()].join('\n'));
  }
}
