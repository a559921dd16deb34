import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createCallbackSender } from '../../../apps/approvals/callbacks/send-callback.ts';
import type { HttpServer } from '../../../apps/shared/http/listen.ts';
import { serve } from '../../support/serve.ts';
import { systemTime } from '../../support/time.ts';

const OLD = 'http://127.0.0.1:1/callbacks/access-requests';

let gateway: HttpServer;
let asked: (string | undefined)[] = [];
beforeAll(async () => {
  gateway = await serve((request, response) => {
    asked.push(request.url);
    response.writeHead(204).end();
  });
});
afterAll(() => gateway.close());
afterEach(() => void (asked = []));

/** A service that knows these callback addresses of the gateway, and has a request with a callback to the old one. */
const sender = (registered: readonly string[]) =>
  createCallbackSender({
    ...systemTime,
    store: {
      callbackOf: async () => ({
        ...{ endpoint: OLD, state: 'gen-1', status: 'approved', client: 'mcp-gateway' },
        endedAt: new Date().toISOString(),
      }),
    },
    clients: [
      {
        ...{ name: 'mcp-gateway', token: 'a token', actsFor: 'mcp-gateway', rights: new Set(), covers: () => true },
        issuers: new Set(),
        callbacks: {
          endpoints: new Set(registered),
          secret: `whsec_${Buffer.from('a secret for callbacks').toString('base64')}`,
          networks: ['127.0.0.0/8'],
        },
      },
    ],
    statusEndpointOf: (id) => `http://ars.test/${id}`,
    log: pino({ level: 'silent' }),
  });

it('calls a gateway at its present address after it moved while a request waited', async () => {
  await sender([`${gateway.url}/moved`])('arq_1');
  expect(asked).toEqual(['/moved']);
});

it.each([
  ['has no address any more', () => []],
  ['has several addresses, and each differs from the old one', () => [`${gateway.url}/a`, `${gateway.url}/b`]],
])('sends no callback when the client %s', async (_case, registered) => {
  await sender(registered())('arq_1');
  expect(asked).toEqual([]);
});
