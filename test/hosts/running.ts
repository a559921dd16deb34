import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Driver } from './row.ts';

/** No step of a client takes this long, in seconds. A client that hangs fails its row, and the next row runs. */
const STEP_SECONDS = 180;
const SHOWN_CHARACTERS = 1_500;

export interface Line {
  readonly at: string;
  readonly said?: unknown;
  readonly url?: string;
  readonly error?: unknown;
}

/** Whether a line of a driver is one of the contract. */
function parsed(text: string): Line | undefined {
  if (!text.startsWith('{"at":')) return undefined;
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}

/** A driver that runs. Its lines are taken in the order of the contract; it fails when another one arrives, or when it ends. */
export class RunningDriver {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: Line[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #onAuthorize: (url: string) => void;
  #others = '';
  #exit: { code: number | null; signal: string | null } | undefined;

  constructor(
    { command, args }: Driver,
    at: { readonly cwd: string; readonly env: Record<string, string> },
    onAuthorize: (url: string) => void,
  ) {
    this.#onAuthorize = onAuthorize;
    // A group of its own: drivers start programs, which end with them.
    this.#child = spawn(command, [...args], { ...at, stdio: 'pipe', detached: true });
    this.#child.stdin.on('error', () => undefined);
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line));
    createInterface({ input: this.#child.stderr }).on('line', (line) => this.#note(line));
    this.#child.once('error', (error) => this.#end({ code: null, signal: error.message }));
    this.#child.once('close', (code, signal) => this.#end({ code, signal }));
  }

  /** The next line, which has to be this one. */
  async next(at: string): Promise<unknown> {
    const line = await this.#until(`"${at}"`, () => this.#lines.shift());
    if (line.at !== at) throw new Error(`expected "${at}": ${this.#describe(line)}`);
    return line.said;
  }

  /** Waits for something outside the driver, but only while the driver has said nothing and runs. */
  async while<T>(what: Promise<T>): Promise<T> {
    let isOver = false;
    const early = this.#until('a decision', () => (isOver ? { at: '' } : this.#lines[0])).then((line) => {
      if (isOver) return undefined as T;
      throw new Error(`the driver did not wait: ${this.#describe(line)}`);
    });
    try {
      return await Promise.race([what, early]);
    } finally {
      isOver = true;
      this.#wake();
      early.catch(() => undefined);
    }
  }

  /** Gives it a line, such as the address to which a person came back. */
  write(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  /** Waits for its end, which has to be a good one. */
  async ended(): Promise<void> {
    const exit = await this.#until('its end', () => this.#lines[0] ?? this.#exit);
    if ('code' in exit && exit.code === 0) return;
    throw new Error('code' in exit ? this.#endedBadly() : `expected its end: ${this.#describe(exit)}`);
  }

  /** Ends it with everything that it has started. */
  stop(): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }

  #take(text: string): void {
    const line = parsed(text);
    if (line === undefined) return this.#note(text);
    if (line.at === 'authorize') return this.#onAuthorize(line.url ?? '');
    this.#lines.push(line);
    this.#wake();
  }

  #note(text: string): void {
    this.#others = `${this.#others}${text}\n`.slice(-10 * SHOWN_CHARACTERS);
  }

  #end(exit: { code: number | null; signal: string | null }): void {
    this.#exit ??= exit;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  #until<T>(what: string, look: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      // Seconds in which the machine stood still do not count.
      let seconds = 0;
      const timer = setInterval(() => {
        seconds += 1;
        if (seconds === STEP_SECONDS)
          done(() => reject(new Error(`waited ${STEP_SECONDS} s for ${what}\n${this.#tail()}`)));
      }, 1_000);
      const done = (settle: () => void) => {
        clearInterval(timer);
        this.#waiting.delete(wake);
        settle();
      };
      const wake = () => {
        const found = look();
        if (found !== undefined) return done(() => resolve(found));
        if (this.#exit !== undefined) done(() => reject(new Error(this.#endedBadly())));
      };
      this.#waiting.add(wake);
      wake();
    });
  }

  #describe({ at, error, said }: Line): string {
    const words = typeof error === 'string' ? error : JSON.stringify(error ?? said);
    return `"${at}" ${words.slice(0, SHOWN_CHARACTERS)}\n${at === 'failed' ? this.#tail() : ''}`.trim();
  }

  #endedBadly(): string {
    const { code, signal } = this.#exit ?? {};
    return `the driver ended with ${signal ?? `exit code ${code}`}\n${this.#tail()}`.trim();
  }

  #tail(): string {
    return this.#others.slice(-SHOWN_CHARACTERS).trim();
  }
}
