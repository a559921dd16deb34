import { deserializeMessage, type JSONRPCMessage, type ReadBuffer } from '@modelcontextprotocol/client';
import { INTERNAL_ERROR, MessageShape, type UnreadableMessage } from './message-shape.ts';
import { LINE_END } from './reading-pace.ts';
import type { Reading } from './upstream-response.ts';

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
