import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { post, requestOf, REVISION, textOf, transfer } from '../../support/gateway-wire.ts';

const gateway = new GatewayUnderTest();
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

/** A placeholder for a number that no JavaScript client can write. */
const PLACE = 4_711;
const TOO_LONG = ['9007199254740993', '-9007199254740993', '12345678901234567890', '1e400', '9007199254740993.0'];
const ALICE = { authorization: 'Bearer token-of-alice' };
const nothingDone = () => expect([world.evaluations, world.openings, world.invocations]).toEqual([[], [], []]);
const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '0' } };

/** Requests of both kinds, each with a number outside its id. */
const REQUESTS: readonly (readonly [
  what: string,
  id: string | number,
  body: object,
  headers: Record<string, string>,
])[] = [
  ...[7, 'seven', 0, -1, ''].map((id) => {
    const { headers, body } = requestOf('tools/call', transfer({ arguments: { to: 'a', amount: PLACE } }), { id });
    return [
      `a call of the present revision with the id ${JSON.stringify(id)}`,
      id,
      JSON.parse(body) as object,
      headers,
    ] as const;
  }),
  ...['tools/call', 'tools/list', 'initialize', 'nothing/known'].map(
    (method) =>
      [
        `${method} of an earlier revision`,
        5,
        { jsonrpc: '2.0', id: 5, method, params: { ...initialize, name: 'bank__transfer', n: [PLACE] } },
        ALICE,
      ] as const,
  ),
];

describe.each(TOO_LONG)('a request with the number %s', (number) => {
  it.each(REQUESTS)('is answered with its id: %s', async (_what, id, body, headers) => {
    const text = JSON.stringify(body).replace(String(PLACE), number);
    const answer = await post(gateway, text, headers);
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        jsonrpc: '2.0',
        id,
        error: {
          code: -32_602,
          message: expect.stringMatching(/too long to be kept exactly, so nothing was done\. Next step/),
        },
      },
    ]);
    expect(answer.text).not.toContain(number);
    nothingDone();
  });

  it.each([
    ['its id is the number', `{"jsonrpc":"2.0","id":${number},"method":"tools/list"}`],
    ['it has two ids', `{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list","params":{"n":${number}}}`],
    ['it has two methods', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"n":${number}},"method":"x"}`],
    ['it has no id', `{"jsonrpc":"2.0","method":"notifications/initialized","params":{"n":${number}}}`],
    ['its id is null', `{"jsonrpc":"2.0","id":null,"method":"tools/list","params":{"n":${number}}}`],
    ['its id is a fraction', `{"jsonrpc":"2.0","id":1.5,"method":"tools/list","params":{"n":${number}}}`],
    ['it is an answer', `{"jsonrpc":"2.0","id":1,"result":{"n":${number}}}`],
    ['it is a batch', `[{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"n":${number}}}]`],
    ['it is not JSON', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"n":${number}`],
  ])('is answered without an id where %s', async (_what, text) => {
    const { status, body } = await post(gateway, text, ALICE);
    expect([status, body.id, body.error?.code]).toEqual([400, null, -32_700]);
    nothingDone();
  });
});

it.each(REQUESTS)('a request with half a character is answered with its id: %s', async (_what, id, body, headers) => {
  const text = JSON.stringify(body).replace(String(PLACE), '"\\ud800"');
  const answer = await post(gateway, text, headers);
  expect([answer.status, answer.body]).toEqual([
    200,
    { jsonrpc: '2.0', id, error: { code: -32_602, message: expect.stringMatching(/half a character .* Next step/) } },
  ]);
  nothingDone();
});

describe('a request with too many elements', () => {
  const withElements = (count: number, body: object) =>
    JSON.stringify(body).replace(String(PLACE), `[${Array<string>(count).fill('1').join()}]`);

  it.each(REQUESTS)('is answered with its id: %s', async (_what, id, body, headers) => {
    const answer = await post(gateway, withElements(20_000, body), headers);
    expect([answer.status, answer.body]).toEqual([
      200,
      { jsonrpc: '2.0', id, error: { code: -32_602, message: expect.stringMatching(/nothing was done.*send less/) } },
    ]);
    nothingDone();
  });

  it('is answered without an id when the id is too costly to find', async () => {
    const [, , body = {}, headers = {}] = REQUESTS[0] ?? [];
    const answer = await post(gateway, withElements(100_000, body), headers);
    expect([answer.status, answer.body.id, answer.body.error?.code]).toEqual([400, null, -32_700]);
    nothingDone();
  });
});

it('a request without a valid token gets no part of its body back', async () => {
  const text = `{"jsonrpc":"2.0","id":77,"method":"tools/list","params":{"n":${TOO_LONG[0]}}}`;
  for (const headers of [{}, { authorization: 'Bearer unknown' }]) {
    const answer = await post(gateway, text, headers);
    expect([answer.status, answer.text.includes('77')]).toEqual([401, false]);
  }
});

describe('the session of an official client continues after such a number', () => {
  /** Replaces the client's number with the long one. */
  const writing: typeof fetch = (input, init) =>
    fetch(
      input,
      typeof init?.body === 'string' ? { ...init, body: init.body.replace(String(PLACE), TOO_LONG[0] ?? '') } : init,
    );
  const transportOptions = { requestInit: { headers: ALICE }, fetch: writing };
  const clientInfo = { name: 'official', version: '0' };

  it.each([
    [
      'of earlier revisions',
      async () => {
        const client = new EarlierClient(clientInfo);
        await client.connect(new EarlierTransport(new URL(gateway.mcpUrl), transportOptions));
        return client;
      },
    ],
    [
      'of the present revision',
      async () => {
        const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: REVISION } } });
        await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcpUrl), transportOptions));
        return client;
      },
    ],
  ])('%s', async (_which, connect) => {
    const client = await connect();
    try {
      const call = (amount: number) => client.callTool({ name: 'bank__transfer', arguments: { to: 'a', amount } });
      await expect(call(PLACE)).rejects.toMatchObject({
        code: -32_602,
        message: expect.stringMatching(/too long to be kept/),
      });
      nothingDone();
      expect(textOf(await call(5))).toBe('booked');
    } finally {
      await client.close();
    }
  });
});
