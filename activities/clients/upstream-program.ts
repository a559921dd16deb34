import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { SdkError, SdkErrorCode, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client';
import {
  getDefaultEnvironment,
  StdioClientTransport,
  type StdioServerParameters,
} from '@modelcontextprotocol/client/stdio';
import type { Logger } from 'pino';
import { MessageLines } from './message-lines.ts';
import type { ProgramStart } from './program-start.ts';
import { keepPace } from './reading-pace.ts';
import type { Reading } from './upstream-response.ts';

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
