import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { ConfigState } from '../../apps/shared/config/watch.ts';
import type { Stack } from './stack.ts';
import { waitFor } from './wait-for.ts';

/** The settings of a file. */
export type Raw = Record<string, Record<string, unknown>>;

/** The configuration file of a stack, which a test changes while the product runs. */
export class LiveSettings {
  readonly #stack: Stack;
  readonly #original: Raw;
  readonly file: string;

  constructor(stack: Stack) {
    this.#stack = stack;
    this.file = join(stack.folder, 'countersign.yaml');
    this.#original = parse(readFileSync(this.file, 'utf8')) as Raw;
  }

  /** What the product says of its configuration. Undefined before the first change. */
  state(): ConfigState | undefined {
    const file = join(this.#stack.stateDir, 'run.json');
    if (!existsSync(file)) return undefined;
    return (JSON.parse(readFileSync(file, 'utf8')) as { configuration?: ConfigState }).configuration;
  }

  /** Replaces the file, as editors do, by this text. */
  write(text: string): void {
    writeFileSync(`${this.file}~`, text);
    renameSync(`${this.file}~`, this.file);
  }

  /** The file of the start with other settings. */
  textWith(change: (original: Raw) => object): string {
    return stringify({ ...this.#original, ...change(this.#original) });
  }

  /** Puts other settings in force, and waits for that. */
  async apply(change: (original: Raw) => object): Promise<void> {
    const before = this.state();
    this.write(this.textWith(change));
    await waitFor(() => {
      const { inForceSince, rejected } = this.state() ?? {};
      const isNews = JSON.stringify(rejected) !== JSON.stringify(before?.rejected);
      if (rejected !== undefined && isNews) throw new Error(`the file is refused: ${rejected.problems.join('\n')}`);
      return inForceSince !== undefined && inForceSince !== before?.inForceSince;
    });
  }
}
