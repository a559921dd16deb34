import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import {
  SdkError,
  SdkErrorCode,
  deserializeMessage,
  type JSONRPCMessage,
  type Transport,
  type ReadBuffer,
} from '@modelcontextprotocol/client';
import {
  getDefaultEnvironment,
  StdioClientTransport,
  DEFAULT_INHERITED_ENV_VARS,
  type StdioServerParameters,
} from '@modelcontextprotocol/client/stdio';
import type { Logger } from 'pino';
import { isNativeError } from 'node:util/types';
import { keepPace, INTERNAL_ERROR, MessageShape, LINE_END, type Reading, type UnreadableMessage } from './reading.ts';

const MAX_LOGGED_CHARS = 2_000;

/** A program to start, which is spoken to over its standard input and output. */
export interface UpstreamProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

interface Watched {
  readonly reading: Reading;
  /** Told what becomes of each process of the program. */
  readonly start: ProgramStart;
}

/** A transport that starts the program when it is connected. */
export function createProgramTransport(program: UpstreamProgram, watched: Watched, log: Logger): Transport {
  const transport = paced(
    {
      command: program.command,
      args: [...program.args],
      env: { ...getDefaultEnvironment(), ...program.env },
      stderr: 'pipe',
      ...(program.cwd !== undefined && { cwd: program.cwd }),
    },
    watched,
  );
  // Kept flowing, so that the program does not block on a full pipe; no faster than anything else that it writes.
  const errors = transport.stderr as Readable;
  errors.on('data', (chunk: Buffer) => {
    log.debug({ stderr: chunk.subarray(0, MAX_LOGGED_CHARS).toString('utf8') }, 'upstream wrote to its error output');
  });
  keepPace(errors, watched.reading);
  return transport;
}

/**
 * The SDK's transport, whose program is read no faster than its pace. The SDK has no place for that, so the output is taken
 * from where the SDK keeps it. It learns the revision from a second process of the program, which it starts with the
 * transport's own constructor and nothing that derives from it: so that is where the second one gets its pace.
 */
function paced(parameters: StdioServerParameters, watched: Watched): StdioClientTransport {
  const { reading } = watched;
  const transport = new StdioClientTransport(parameters);
  const start = transport.start.bind(transport);
  const send = transport.send.bind(transport);
  let input: Writable | null = null;
  const another = function (changed: StdioServerParameters) {
    return paced(changed, watched);
  };
  return Object.assign(transport, {
    constructor: another,
    _readBuffer: new MessageLines(reading),
    async start() {
      await start();
      const { _process: child } = transport as unknown as { readonly _process?: ChildProcess };
      if (!child?.stdout) throw new Error('the program was started, and its output cannot be found');
      input = child.stdin;
      watched.start.started();
      child.stderr?.on('data', (chunk: Buffer) => watched.start.wrote(chunk));
      child.once('exit', (code, signal) => watched.start.ended(code, signal));
      const letGo = keepPace(child.stdout, reading);
      // What is left in the pipe of a program that has ended would keep its end from being noticed.
      child.once('exit', letGo);
    },
    async send(message: JSONRPCMessage) {
      // What a program does not read is kept here for it.
      if ((input?.writableLength ?? 0) > reading.maxMessageBytes) {
        throw new SdkError(SdkErrorCode.NotConnected, 'the program does not read what it is sent');
      }
      await send(message);
    },
  });
}

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

/**
 * What a program writes, line by line, in place of the SDK's own reading, which gives up the whole connection over a line that is
 * too large. Here only the request that it answers fails: it gets an error that says why.
 */
export class MessageLines implements Pick<ReadBuffer, 'append' | 'readMessage' | 'clear'> {
  readonly #reading: Reading;
  readonly #ready: (string | JSONRPCMessage)[] = [];
  #shape: MessageShape;
  #pieces: Buffer[] = [];
  /** What is wrong with the line that is open. */
  #fault: UnreadableMessage | undefined;
  #isAnswered = false;

  constructor(reading: Reading) {
    this.#reading = reading;
    this.#shape = new MessageShape(reading);
  }

  append(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end !== -1; end = chunk.indexOf(LINE_END, from)) {
      this.#take(chunk.subarray(from, end));
      this.#end();
      from = end + 1;
    }
    this.#take(chunk.subarray(from));
  }

  readMessage(): JSONRPCMessage | null {
    for (let next = this.#ready.shift(); next !== undefined; next = this.#ready.shift()) {
      if (typeof next !== 'string') return next;
      try {
        return deserializeMessage(next);
      } catch (error) {
        // Programs write other things than messages, too.
        if (!(error instanceof SyntaxError)) throw error;
      }
    }
    return null;
  }

  clear(): void {
    this.#ready.length = 0;
    this.#begin();
  }

  #take(piece: Buffer): void {
    if (piece.length === 0 || this.#isAnswered) return;
    this.#shape.feed(piece);
    if (this.#fault === undefined) {
      this.#fault = this.#shape.fault;
      if (this.#fault === undefined) return void this.#pieces.push(piece);
      this.#pieces = [];
      this.#reading.onUnreadable(this.#fault);
    }
    this.#answer(this.#fault);
  }

  /** As soon as it is known which request it is about: the line may never end. */
  #answer(fault: UnreadableMessage): void {
    const id = this.#shape.answers;
    if (id === undefined) return;
    this.#isAnswered = true;
    this.#ready.push({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: fault.message, data: fault } });
  }

  #end(): void {
    if (this.#fault === undefined) this.#ready.push(Buffer.concat(this.#pieces).toString('utf8').replace(/\r$/, ''));
    this.#begin();
  }

  #begin(): void {
    this.#shape = new MessageShape(this.#reading);
    this.#pieces = [];
    this.#fault = undefined;
    this.#isAnswered = false;
  }
}
