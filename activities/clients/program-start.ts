import { isNativeError } from 'node:util/types';
import { DEFAULT_INHERITED_ENV_VARS } from '@modelcontextprotocol/client/stdio';

/** What a program says last says most of why it ended. In UTF-16 code units. */
const MAX_KEPT = 1_000;
const ENVIRONMENT = `It gets no environment variables but ${DEFAULT_INHERITED_ENV_VARS.join(', ')} and those of its setting "env".`;

/**
 * What is known of a program until it is connected, for the operator. Nothing of a call can be in what it writes until then; what it
 * writes to its error output later is no part of this.
 */
export class ProgramStart {
  #isStarted = false;
  #said = '';
  #end: string | undefined;

  /** A process of the program was started. What became of one before it counts no more: it only told its revision, and we ended it. */
  started(): void {
    this.#isStarted = true;
    this.#said = '';
    this.#end = undefined;
  }

  /** It wrote this to its error output. */
  wrote(chunk: Buffer): void {
    this.#said = (this.#said + chunk.toString('utf8')).slice(-MAX_KEPT);
  }

  ended(code: number | null, signal: NodeJS.Signals | null): void {
    this.#end = code === null ? `was ended by ${signal}` : `ended with the exit code ${code}`;
  }

  /** Why it cannot be connected, in words for the operator. An upstream that is no program has the cause alone. */
  explain(cause: unknown): unknown {
    if (!isNativeError(cause)) return cause;
    const why = wordsOf(cause);
    const { syscall } = cause as NodeJS.ErrnoException;
    if (syscall?.startsWith('spawn')) return new Error(`its program cannot be started (${why}). ${ENVIRONMENT}`);
    if (!this.#isStarted) return cause;
    const end = this.#end === undefined ? why : `its program ${this.#end} (${why})`;
    const said = this.#said.trim();
    // All that the causes say is in it: `doctor` tells the first cause alone, which knows nothing of the program.
    return new Error(`${end}. ${said === '' ? 'It wrote no error' : `Its last words were: ${said}`}. ${ENVIRONMENT}`);
  }
}

/** What an error says, and what caused it. */
const wordsOf = ({ message, cause }: Error): string =>
  isNativeError(cause) ? `${message}: ${wordsOf(cause)}` : message;
