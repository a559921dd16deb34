import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import type { PassThrough, Readable, Writable } from 'node:stream';
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
import { spawnApart } from './apart.ts';
import { keepPace, INTERNAL_ERROR, MessageShape, LINE_END, type Reading, type UnreadableMessage } from './reading.ts';

const MAX_LOGGED_CHARS = 2_000;

/** A program to start. Messages go over its standard input and output. */
export interface UpstreamProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

interface Watched {
  readonly reading: Reading;
  /** Notes the start and the end of each process of the program. */
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
  // Read all the time, so that the program does not block on a full pipe; no faster than its messages.
  const errors = transport.stderr as Readable;
  errors.on('data', (chunk: Buffer) => {
    log.debug({ stderr: chunk.subarray(0, MAX_LOGGED_CHARS).toString('utf8') }, 'upstream wrote to its error output');
  });
  keepPace(errors, watched.reading);
  return transport;
}

/**
 * The SDK's transport, with a limited pace of reading and a process group of its own. The SDK has no option for either, so this uses its
 * private members. The SDK learns the revision from a second process of the program, which it starts with the transport's own constructor:
 * so that is where the second process gets both.
 */
function paced(parameters: StdioServerParameters, watched: Watched): StdioClientTransport {
  const { reading } = watched;
  const transport = new StdioClientTransport(parameters);
  const inner = transport as unknown as Inner;
  // No console reaches a program of Windows, which is started without a window.
  const start = process.platform === 'win32' ? transport.start.bind(transport) : () => startApart(inner);
  const [send, close] = [transport.send.bind(transport), transport.close.bind(transport)];
  let input: Writable | null = null;
  const another = function (changed: StdioServerParameters) {
    return paced(changed, watched);
  };
  return Object.assign(transport, {
    constructor: another,
    _readBuffer: new MessageLines(reading, (line) => watched.start.wroteOther(line)),
    async start() {
      if (parameters.cwd !== undefined && !isFolder(parameters.cwd))
        throw new Error(`its folder ${parameters.cwd} (cwd) does not exist; make it, or correct cwd`);
      await start().catch((error: unknown) => {
        throw startFault(parameters.command, error);
      });
      const { _process: child } = inner;
      if (!child?.stdout) throw new Error('the program was started, and its output cannot be found');
      input = child.stdin;
      watched.start.started();
      child.stderr?.on('data', (chunk: Buffer) => watched.start.wrote(chunk));
      child.once('exit', (code, signal) => watched.start.ended(code, signal));
      const letGo = keepPace(child.stdout, reading);
      // Unread output in the pipe of an ended program would keep its end from being noticed.
      child.once('exit', letGo);
    },
    async send(message: JSONRPCMessage) {
      // This process keeps the messages that a program does not read.
      if ((input?.writableLength ?? 0) > reading.maxMessageBytes) {
        throw new SdkError(SdkErrorCode.NotConnected, 'the program does not read what it is sent');
      }
      await send(message);
    },
    async close() {
      const { _process: child } = inner;
      await close();
      // Helpers of a program that has ended can hold its pipes, and outlive it.
      child?.kill();
    },
  });
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** A shell would split a text with blanks into a program and its arguments. There is none. The rest of the text may hold a secret. */
function startFault(command: string, error: unknown): unknown {
  const [program = ''] = command.trim().split(/\s+/);
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  if (!isMissing || program === command) return error;
  return new Error(
    `there is no program with the whole name that its command has; put only ${program} into command, and each argument into args`,
  );
}

/** The private members of the SDK's transport. */
interface Inner extends Pick<StdioClientTransport, 'onclose' | 'onerror' | 'close'> {
  readonly _serverParams: StdioServerParameters;
  readonly _readBuffer: Pick<ReadBuffer, 'append'>;
  readonly _stderrStream: PassThrough | null;
  _process: ChildProcess | undefined;
  processReadBuffer(): void;
}

/** What the SDK's own `start` does, but with a process group for the program. */
async function startApart(inner: Inner): Promise<void> {
  if (inner._process !== undefined) throw new Error('the program was started before');
  const child = spawnApart(inner._serverParams);
  inner._process = child;
  const failed = (error: Error) => inner.onerror?.(error);
  const started = once(child, 'spawn');
  child.on('error', failed);
  child.once('close', () => {
    inner._process = undefined;
    inner.onclose?.();
  });
  child.stdin?.on('error', failed);
  child.stdout?.on('error', failed).on('data', (chunk: Buffer) => {
    try {
      inner._readBuffer.append(chunk);
      inner.processReadBuffer();
    } catch (error) {
      failed(error as Error);
      inner.close().catch(() => undefined);
    }
  });
  if (inner._stderrStream !== null) child.stderr?.pipe(inner._stderrStream);
  await started;
}

/** The last words of a program explain its end best. In UTF-16 code units. */
const MAX_KEPT = 1_000;
const MAX_QUOTED = 200;
const ENVIRONMENT = `It gets no environment variables but ${DEFAULT_INHERITED_ENV_VARS.join(', ')} and those of its setting "env".`;

/**
 * The facts about a program until it is connected, for the operator. Its error output until then can contain no call; later output
 * is left out.
 */
export class ProgramStart {
  #isStarted = false;
  #said = '';
  #end: string | undefined;
  #other: string | undefined;

  /** A process of the program was started. The one before it only told its revision, and we ended it. */
  started(): void {
    this.#isStarted = true;
    this.#said = '';
    this.#end = undefined;
    this.#other = undefined;
  }

  wrote(chunk: Buffer): void {
    this.#said = (this.#said + chunk.toString('utf8')).slice(-MAX_KEPT);
  }

  /** A line of its output that is no message. */
  wroteOther(line: string): void {
    if (line.trim() !== '') this.#other ??= line.slice(0, MAX_QUOTED);
  }

  ended(code: number | null, signal: NodeJS.Signals | null): void {
    this.#end = code === null ? `was ended by ${signal}` : `ended with the exit code ${code}`;
  }

  /** Why the upstream cannot be connected, in words for the operator. Without a program, the cause alone. */
  explain(cause: unknown): unknown {
    if (!isNativeError(cause)) return cause;
    const why = wordsOf(cause);
    const { syscall } = cause as NodeJS.ErrnoException;
    if (syscall?.startsWith('spawn')) return new Error(`its program cannot be started (${why}). ${ENVIRONMENT}`);
    if (!this.#isStarted) return cause;
    const end = this.#end === undefined ? why : `its program ${this.#end} (${why})`;
    // In one line, since logs and terminals show a line break as an escape.
    const said = this.#said.trim().replaceAll(/\s*\n\s*/g, ' | ');
    // With the words of all causes: `doctor` shows the first cause alone, which knows nothing of the program.
    const words = said === '' ? 'It wrote no error' : `Its last words were: ${said}`;
    // Often the cause: a program that says something to people where only messages may be.
    const other =
      this.#other === undefined ? '' : ` Its output has a line that is no message: ${JSON.stringify(this.#other)}.`;
    return new Error(`${end}. ${words}.${other} ${ENVIRONMENT}`);
  }
}

/** The message of an error, and those of its causes. */
const wordsOf = ({ message, cause }: Error): string =>
  isNativeError(cause) ? `${message}: ${wordsOf(cause)}` : message;

/**
 * The output of a program, line by line, in place of the SDK's own reading, which gives up the whole connection over a line that is
 * too large. Here only the request that the line answers fails: it gets an error that says why.
 */
class MessageLines implements Pick<ReadBuffer, 'append' | 'readMessage' | 'clear'> {
  readonly #reading: Reading;
  readonly #onOther: (line: string) => void;
  readonly #ready: (string | JSONRPCMessage)[] = [];
  #shape: MessageShape;
  #pieces: Buffer[] = [];
  #fault: UnreadableMessage | undefined;
  #isAnswered = false;

  /** `onOther` gets each line that is no message. */
  constructor(reading: Reading, onOther: (line: string) => void) {
    this.#reading = reading;
    this.#onOther = onOther;
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
        this.#onOther(next);
        // Programs write other lines than messages, too.
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

  /** Answers as soon as the request id is known: the line may never end. */
  #answer(fault: UnreadableMessage): void {
    const id = this.#shape.answers;
    if (id === undefined) return;
    this.#isAnswered = true;
    this.#ready.push({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: fault.message, data: fault } });
  }

  #end(): void {
    const text = Buffer.concat(this.#pieces).toString('utf8');
    // Programs of Windows begin their output with a byte order mark.
    if (this.#fault === undefined) this.#ready.push(text.replaceAll(/^\uFEFF|\r$/g, ''));
    this.#begin();
  }

  #begin(): void {
    this.#shape = new MessageShape(this.#reading);
    this.#pieces = [];
    this.#fault = undefined;
    this.#isAnswered = false;
  }
}
