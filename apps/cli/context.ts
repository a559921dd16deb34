import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { Config } from '../shared/config/config.ts';
import { type Environment, readEnvironment } from '../shared/config/env.ts';
import { loadConfig, type LoadedConfig } from '../shared/config/load.ts';
import { UNPRINTABLE, visible } from '../shared/logger.ts';
import { findStack, type Stack } from './stack.ts';

/** Everything a command says and is told. Results go to `out`, everything about getting them to `err`. */
export interface Io {
  out(line: string): void;
  err(line: string): void;
  /** Asks a person; absent when nobody sits there. */
  readonly ask?: (question: string) => Promise<string>;
  /** What is piped into the command, all of it. */
  readonly input: () => Promise<string>;
  readonly environment: Environment;
  readonly cwd: string;
}

/** Whoever reads may stop reading (`| head`): what is written then goes nowhere, and the command still ends properly. */
function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}

/** The terminal, pipe or file this process was started with. */
export function processIo(): Io {
  ignoreClosedPipes();
  const ask = async (question: string) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return await lines.question(question);
    } finally {
      lines.close();
    }
  };
  return {
    out: (line) => void process.stdout.write(`${line}\n`),
    err: (line) => void process.stderr.write(`${line}\n`),
    input: () => text(process.stdin),
    ...(process.stdin.isTTY && process.stderr.isTTY && { ask }),
    environment: readEnvironment(),
    cwd: process.cwd(),
  };
}

export { visible };

/** Exit codes of every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** What a command cannot do, in one line that says what to do about it. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(message: string, options: { exitCode?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? EXIT.failed;
  }
}

/** JSON for people and programs; what a terminal would obey is escaped in a way that JSON understands. */
export function json(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(UNPRINTABLE, (character) =>
    character === '\n' ? character : [...escapes(character)].join(''),
  );
}

function* escapes(character: string): Generator<string> {
  for (let i = 0; i < character.length; i += 1) {
    yield `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  }
}

/** Columns as wide as their widest cell, two spaces between them. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows].map((row) => row.map(visible));
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const LINE_WIDTH = 100;

/** Names and values below each other, long values on several lines. Absent values are left out. */
export function facts(rows: readonly (readonly [name: string, value: string | undefined])[]): string {
  const present = rows.filter((row): row is readonly [string, string] => row[1] !== undefined);
  const width = Math.max(...present.map(([name]) => name.length));
  const margin = `\n${' '.repeat(width + 2)}`;
  return present
    .map(([name, value]) => `${name.padEnd(width)}  ${wrap(visible(value), LINE_WIDTH - width - 2).join(margin)}`)
    .join('\n');
}

/** Breaks at blanks only, so that a reference or an address stays in one piece however long it is. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** `2026-11-21 10:00:00Z`, or `2026-11-21 10:00:00.000Z` where the order of two instants within a second matters. */
export function moment(at: string, precision: 'seconds' | 'milliseconds' = 'seconds'): string {
  return `${at.slice(0, precision === 'seconds' ? 19 : 23).replace('T', ' ')}Z`;
}

/** Options that every command has. */
export interface GlobalOptions {
  readonly config?: string;
  readonly debug?: boolean;
}

/** The configuration that a command works with. Throws `ERR_CONFIG_INVALID` with one line per problem. */
export function readConfig(io: Io, command: Command): LoadedConfig {
  const { config: configFile } = command.optsWithGlobals<GlobalOptions>();
  return loadConfig({ environment: io.environment, configFile, cwd: io.cwd });
}

/** The stack that runs on the configured state folder. Throws when there is none. */
export async function requireStack(config: Config): Promise<Stack> {
  const stack = await findStack(config);
  if (stack) return stack;
  throw new CliError(`nothing is running on the state folder ${config.stateDir}; start it with \`npm start\``);
}
