import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { Config } from '../shared/config/config.ts';
import { databaseAddress, type Environment, readEnvironment } from '../shared/config/env.ts';
import { loadConfig, type LoadedConfig } from '../shared/config/load.ts';
import { runningPostgres } from '../shared/embedded/postgres.ts';
import { limitsOf } from '../shared/limits.ts';
import { UNPRINTABLE, visible } from '../shared/logger.ts';
import { findStack, recordedStack, type Stack } from './stack.ts';
import { OWN_COMMAND } from './own-command.ts';

/** Input and output of a command. Results go to `out`, and all other messages to `err`. */
export interface Io {
  out(line: string): void;
  err(line: string): void;
  /** Asks the person at the terminal. Absent without a terminal. */
  readonly ask?: (question: string) => Promise<string>;
  /** Reads standard input to its end. */
  readonly input: () => Promise<string>;
  readonly environment: Environment;
  readonly cwd: string;
}

/** A reader can close its pipe early (`| head`), and a terminal its window. Later output is then dropped, and the command still ends properly. */
function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
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

/** A failure of a command, in one line that includes the next step. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(message: string, options: { exitCode?: number; cause?: unknown } = {}) {
    super(message, options);
    this.exitCode = options.exitCode ?? EXIT.failed;
  }
}

/** JSON for people and programs. Characters that control a terminal become JSON escapes. */
export function json(value: unknown): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, null, 2).replace(UNPRINTABLE, (character) =>
    character === '\n' ? character : character.split('').map(escaped).join(''),
  );
}

/** Aligns columns, with two spaces between them. */
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

/** One row for each name and value. Long values continue on further lines, and absent values are left out. */
export function facts(rows: readonly (readonly [name: string, value: string | undefined])[]): string {
  const present = rows.filter((row): row is readonly [string, string] => row[1] !== undefined);
  const width = Math.max(...present.map(([name]) => name.length));
  const margin = `\n${' '.repeat(width + 2)}`;
  return present
    .map(([name, value]) => `${name.padEnd(width)}  ${wrap(visible(value), LINE_WIDTH - width - 2).join(margin)}`)
    .join('\n');
}

/** Breaks only at blanks, so that a reference or an address stays in one piece. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** `2026-11-21 10:00:00Z`, or `2026-11-21 10:00:00.000Z` where the order within a second matters. */
export function moment(at: string, precision: 'seconds' | 'milliseconds' = 'seconds'): string {
  return `${at.slice(0, precision === 'seconds' ? 19 : 23).replace('T', ' ')}Z`;
}

/** Asks before a change that `--yes` allows without a question. Throws unless the answer is yes. */
export async function confirm(io: Io, { shown, question, otherwise }: Confirmation): Promise<void> {
  if (io.ask === undefined) {
    throw new CliError('there is no terminal for the question; add --yes to go on without it', {
      exitCode: EXIT.usage,
    });
  }
  for (const line of shown) io.err(line);
  const answer = await io.ask(`\n${question} Go on? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError(otherwise);
}

interface Confirmation {
  /** Exactly the content of the change. */
  readonly shown: readonly string[];
  readonly question: string;
  /** The message when the answer is no. */
  readonly otherwise: string;
}

/** Options that every command has. */
export interface GlobalOptions {
  readonly config?: string;
  readonly debug?: boolean;
}

/** The configuration of a command. Throws `ERR_CONFIG_INVALID` with one line per problem. */
export function readConfig(io: Io, command: Command): LoadedConfig {
  const { config: configFile } = command.optsWithGlobals<GlobalOptions>();
  return loadConfig({ environment: io.environment, configFile, cwd: io.cwd });
}

/**
 * The stack that runs on the configured state folder. One that is busy has as long to answer as any service. Throws if no stack runs, or it
 * does not answer.
 */
export async function requireStack(config: Config): Promise<Stack> {
  const stack = await findStack(config, limitsOf(config).commandMs);
  if (stack !== undefined) return stack;
  const { stateDir } = config;
  const recorded = recordedStack(config);
  if (recorded === undefined)
    throw new CliError(
      `nothing is running on the state folder ${stateDir}; start it with \`${OWN_COMMAND} up\`, or run this in the folder where it runs`,
    );
  const { pid, urls } = recorded;
  throw new CliError(
    `Countersign (process ${pid}) does not answer at ${urls.gateway}; wait, or stop it and start it again`,
  );
}

/** The database, for the owner of its tables: `named`, else `DATABASE_URL`, else the running embedded one. */
export async function ownersDatabase(io: Io, command: Command, named?: string): Promise<string> {
  if (named !== undefined) return databaseAddress('--database-url', named);
  const url = io.environment.databaseUrl ?? (await runningPostgres(readConfig(io, command).config.stateDir));
  if (url !== undefined) return url;
  throw new CliError(
    `there is no database; set DATABASE_URL or --database-url (\`${OWN_COMMAND} up\` migrates the embedded database)`,
  );
}
