import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

const message = (type: string, body: Buffer) => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const int16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const int32 = (value: number) => Buffer.concat([int16(value >>> 16), int16(value & 65_535)]);
const text = (value: string) => Buffer.from(`${value}\0`);

const READY = message('Z', Buffer.from('I'));
const WELCOME = Buffer.concat([message('R', int32(0)), READY]);
/** One row with the number of the only session of the server. */
const SESSION = Buffer.concat([
  message('T', Buffer.concat([int16(1), text('pid'), int32(0), int16(0), int32(23), int16(4), int32(-1), int16(0)])),
  message('D', Buffer.concat([int16(1), int32(4), Buffer.from('4711')])),
  message('C', text('SELECT 1')),
  READY,
]);
const REFUSAL = message(
  'E',
  Buffer.concat([
    ...[text(`S${'FATAL'}`), text(`V${'FATAL'}`), text('C08P01')],
    ...[text(`M${'unsupported startup parameter'}`), int16(0)],
  ]),
);

/**
 * Speaks as much of the protocol as a pooler does that lends one session of its server to all clients, in turn. `refuses`: it takes no
 * settings at the start of a connection, as poolers do by default.
 */
export async function startFakePooler({ refuses }: { readonly refuses: boolean }) {
  const clients = new Set<Socket>();
  const server = createServer((socket) => {
    clients.add(socket);
    socket.on('close', () => clients.delete(socket));
    socket.on('error', () => undefined);
    socket.once('data', () => {
      if (refuses) return void socket.end(REFUSAL);
      socket.write(WELCOME);
      socket.on('data', (sent) => {
        if (sent.toString('latin1', 0, 1) === 'Q') socket.write(SESSION);
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://countersign@127.0.0.1:${port}/countersign`,
    async stop() {
      for (const client of clients) client.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
