import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { requestable, TASK_ID } from '../../support/gateway-world.ts';
import { REVISION } from '../../support/gateway-wire.ts';
import { StdioHost } from '../../support/stdio-host.ts';
import { aTool } from '../../support/tools.ts';
import { waitFor } from '../../support/wait-for.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'a-host', version: '0' },
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
};
const toolWith = (header: string) =>
  aTool({
    name: 'query',
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': header } } },
  });
const CALLED = { name: 'bank__query', arguments: { region: 'Zürich' }, _meta: META };

const gateway = new GatewayUnderTest();
let host: StdioHost;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.reset();
  host = new StdioHost(gateway.mcpUrl, { token: 'token-of-alice' });
});
afterEach(() => host.stop());

it('a call gets the headers that its tool demands, and runs once, without a list and after the tool has changed', async () => {
  const { world } = gateway;
  for (const [id, header] of [
    [1, 'Region'],
    [2, 'Region'],
    [3, 'Place'],
  ] as const) {
    world.listed = [toolWith(header)];
    expect(await host.ask(id, 'tools/call', CALLED)).toMatchObject({ result: { resultType: 'complete' } });
    expect(world.invocations).toHaveLength(id);
  }
  expect(host.lines).toHaveLength(3);
});

it('a task passes in both directions', async () => {
  gateway.world.decision = requestable();
  const held = await host.ask(1, 'tools/call', {
    ...CALLED,
    name: 'bank__transfer',
    arguments: { amount: 1, to: 'b' },
  });
  expect(held).toMatchObject({ result: { resultType: 'task', taskId: expect.any(String) } });
  const { taskId } = held['result'] as { taskId: string };
  expect(await host.ask(2, 'tasks/get', { taskId, _meta: META })).toMatchObject({ result: { taskId } });
});

it('a cancelled request ends at the gateway, and the host hears no more of it', async () => {
  const { world } = gateway;
  const params = { notifications: { taskIds: [TASK_ID] }, _meta: META };
  host.send({ jsonrpc: '2.0', id: 's', method: 'subscriptions/listen', params });
  await host.told('notifications/tasks');
  const before = host.lines.length;
  host.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 's', _meta: META } });
  await waitFor(() => world.taskListeners.size === 0);
  expect(await host.ask(1, 'tools/list', { _meta: META })).toHaveProperty('result.tools');
  expect(host.lines).toHaveLength(before + 1);
});

it('a subscription goes on when its connection breaks', async () => {
  const sockets: Socket[] = [];
  const { port } = new URL(gateway.mcpUrl);
  const proxy = createServer((client) => {
    const onward = connect(Number(port), '127.0.0.1');
    for (const [from, to] of [
      [client, onward],
      [onward, client],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
    }
    sockets.push(client, onward);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
  const through = new StdioHost(url, { token: 'token-of-alice' });
  const params = { notifications: { taskIds: [TASK_ID] }, _meta: META };
  through.send({ jsonrpc: '2.0', id: 's', method: 'subscriptions/listen', params });
  await through.told('notifications/tasks');
  for (const socket of sockets) socket.destroy();
  const shown = () => through.messages.filter(({ method }) => method === 'notifications/tasks').length;
  await waitFor(() => shown() === 2);
  expect(through.messages.some(({ id }) => id === 's')).toBe(false);
  await through.stop();
  for (const socket of sockets) socket.destroy();
  proxy.close();
});

it('a refused request keeps the words of the gateway', async () => {
  const unknown = await host.ask(1, 'tools/call', { name: 'nothing__here', arguments: {}, _meta: META });
  expect(unknown).toMatchObject({ error: { code: -32_602, message: expect.stringMatching(/Unknown tool/) } });
  const undeclared = { ...META, 'io.modelcontextprotocol/clientCapabilities': {} };
  expect(await host.ask(2, 'tasks/get', { taskId: TASK_ID, _meta: undeclared })).toMatchObject({
    error: { code: -32_021 },
  });
});
