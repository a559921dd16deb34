/** One message of PostgreSQL's protocol, version 3. `type` is empty for the messages that begin a connection. */
export interface Message {
  readonly type: string;
  /** The whole message, unchanged. */
  readonly bytes: Buffer;
}

const SSL_REQUEST = 80_877_103;

/** Cuts a stream of bytes into messages, from pieces of any size. */
export function messageReader(options: { readonly startsWithoutType: boolean }): (chunk: Buffer) => Message[] {
  let rest = Buffer.alloc(0);
  let isStart = options.startsWithoutType;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const messages: Message[] = [];
    for (;;) {
      const header = isStart ? 0 : 1;
      if (rest.length < header + 4) return messages;
      const length = header + rest.readInt32BE(header);
      if (rest.length < length) return messages;
      const bytes = rest.subarray(0, length);
      rest = rest.subarray(length);
      // A request for encryption is answered with one byte and followed by the real start.
      if (isStart && !(length === 8 && bytes.readInt32BE(4) === SSL_REQUEST)) isStart = false;
      messages.push({ type: header === 0 ? '' : String.fromCharCode(bytes[0] ?? 0), bytes });
    }
  };
}

/** Name of the prepared statement that a message is about to run, or the text of a simple query. */
export function statementOf({ type, bytes }: Message): string | undefined {
  if (type === 'Q') return textAt(bytes, 5);
  if (type !== 'B') return undefined;
  const portal = textAt(bytes, 5);
  return textAt(bytes, 5 + Buffer.byteLength(portal) + 1);
}

function textAt(bytes: Buffer, start: number): string {
  return bytes.subarray(start, bytes.indexOf(0, start)).toString('utf8');
}
