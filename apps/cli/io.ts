import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { readEnvironment, type Environment } from '../shared/config/env.ts';

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
