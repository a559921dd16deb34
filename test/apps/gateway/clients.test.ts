import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { connectAgent, rawDispatchOver } from '../../../apps/cli/demo/agent.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { aView, requestable } from '../../support/gateway-world.ts';
import { transfer } from '../../support/gateway-wire.ts';
import { schemaOf } from '../../support/input-calls.ts';
import { waitFor } from '../../support/wait-for.ts';
import { requestForm, type RequestForm } from '../../../workflows/domain/submission-input/request-form.ts';

const gateway = new GatewayUnderTest({ requestByItself: false });
const { world } = gateway;
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => gateway.reset());

const TOOLS = ['bank__transfer', 'bank__anything', 'request_access', 'get_request_status'];
const requestInit = { headers: { authorization: 'Bearer token-of-alice' } };

describe('the official tasks client', () => {
  it('follows a call from the task to the result', async () => {
    world.decision = requestable();
    const agent = await connectAgent(gateway.mcpUrl, 'token-of-alice');
    const seen: string[] = [];
    try {
      expect(await agent.toolNames()).toEqual(TOOLS);
      const answer = await agent.call('bank__transfer', { to: 'a', amount: 1 }, (task) => {
        seen.push(task.status);
        const result = JSON.stringify({ content: [{ type: 'text', text: 'booked' }] });
        world.view = aView({ state: 'executed', result, outcomeRef: 'out_1' });
      });
      expect(answer).toMatchObject({ status: 'completed', isError: false });
      expect(answer.text).toMatch(/booked\nThe tool ran once/);
      expect(seen).toContain('working');
    } finally {
      await agent.close();
    }
  });

  it.each([
    [aView({ state: 'denied', reason: 'resolution_denied' }), 'completed', /did not run/],
    [aView({ state: 'outcome_unknown', reason: 'no_result' }), 'completed', /may have run/],
    [aView({ state: 'cancelled', reason: 'client_cancelled' }), 'cancelled', /cancelled/],
    [aView({ state: 'failed', reason: 'resolution_failed' }), 'failed', /approval service/],
  ])('understands the end of a call (%#)', async (view, status, text) => {
    world.decision = requestable();
    const agent = await connectAgent(gateway.mcpUrl, 'token-of-alice');
    try {
      const answer = await agent.call('bank__transfer', { to: 'a', amount: 1 }, () => (world.view = view));
      expect(answer).toMatchObject({ status, isError: true });
      expect(answer.text).toMatch(text);
    } finally {
      await agent.close();
    }
  });
});

/** Makes a call with the official tasks client, and follows it to its end. `step` runs before each poll; `answer` answers its questions. */
async function followed(capabilities: object, step: (status: string) => void, answer: () => unknown) {
  const clientInfo = { name: 'official', version: '0' };
  const clientCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} }, ...capabilities };
  const client = new Client(clientInfo, {
    capabilities: clientCapabilities,
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcpUrl), { requestInit }));
  const asked: unknown[] = [];
  const statuses: string[] = [];
  const session = createTaskSessionFromClient(client, {
    endpointId: gateway.mcpUrl,
    rawDispatch: rawDispatchOver(client),
    v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo, clientCapabilities },
    onInputRequest: async (request) => {
      asked.push(request);
      return answer() as never;
    },
  });
  try {
    const execution = await session.callTool(transfer().name, transfer().arguments);
    const { outcome } = await execution.settle({
      onEvent: (event) => {
        if (event.type !== 'task') return;
        statuses.push(event.task.status);
        step(event.task.status);
      },
    });
    return { settled: outcome.status, asked, statuses };
  } finally {
    await session.close();
    await client.close();
  }
}

it.each(['accept', 'decline', 'cancel'] as const)(
  'the official tasks client whose host opens addresses is asked once for the page of its call, and follows it after "%s"',
  async (action) => {
    world.decision = requestable();
    world.view = aView({ approvalPage: 'https://approvals.test/requests/1' });
    const { settled, asked, statuses } = await followed(
      { elicitation: { url: {} } },
      (status) => {
        if (world.pagesAnswered.length > 0 && status === 'working')
          world.view = aView({ state: 'executed', result: JSON.stringify({ content: [] }), outcomeRef: 'out_1' });
      },
      () => ({ action }),
    );
    expect(JSON.stringify(asked)).toContain(`${gateway.url}/calls/`);
    expect([settled, asked.length, world.pagesAnswered.length, world.cancelled]).toEqual(['completed', 1, 1, []]);
    expect(statuses).toEqual(expect.arrayContaining(['input_required', 'working']));
  },
);

it('the official tasks client goes on after a form that its host declined, or filled in wrongly', async () => {
  world.decision = requestable();
  const form = requestForm(schemaOf({ ticket: { type: 'string', minLength: 3 } })) as RequestForm;
  const ask = (key: string) => (world.view = aView({ state: 'input_required', questions: [{ key, form }] }));
  ask('input-1');
  const answers = [
    { action: 'decline' },
    { action: 'accept', content: { ticket: 'x' } },
    { action: 'accept', content: { ticket: 'CHG-1' } },
  ];
  const { settled, asked } = await followed(
    { elicitation: { form: {} } },
    () => {
      if (world.answered.length > 0)
        world.view = aView({ state: 'executed', result: JSON.stringify({ content: [] }), outcomeRef: 'out_1' });
    },
    () => answers.shift(),
  );
  expect([settled, asked.length, answers.length]).toEqual(['completed', 3, 0]);
  expect(JSON.stringify(asked[1])).toMatch(/closed or declined/);
  expect(JSON.stringify(asked[2])).toMatch(/Check: ticket/);
});

describe('the present SDK client', () => {
  it('calls an allowed tool, and hears when the tools change [LISTEN-010, CACHE-007]', async () => {
    let changes = 0;
    const client = new Client(
      { name: 'test', version: '0' },
      {
        versionNegotiation: { mode: 'auto' },
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => (changes += 1) } },
      },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcpUrl), { requestInit }));
    try {
      expect(client.getProtocolEra()).toBe('modern');
      expect((await client.callTool(transfer())).content).toEqual([{ type: 'text', text: 'booked' }]);
      // The client subscribes some time after it has connected, so the test announces until it hears.
      await waitFor(() => {
        for (const listener of world.changeListeners) listener('tools');
        return changes > 0;
      });
    } finally {
      await client.close();
    }
  });
});

describe('a client that can ask its user', () => {
  it('gets the input that an access request needs from its user, and repeats the call with the answer [MRTR-045]', async () => {
    const schemaUrl = 'https://approvals.test/schemas/a.json';
    world.input.forms = { [schemaUrl]: requestForm(schemaOf({ justification: { type: 'string' } })) as RequestForm };
    world.decision = requestable({
      offer: { endpoint: 'https://ars.test/requests', expiresAt: '2126-01-01T00:00:00Z', requestSchemaUrl: schemaUrl },
    });
    const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode: 'auto' }, capabilities });
    const asked: unknown[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params);
      return { action: 'accept', content: { justification: 'as agreed' } };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcpUrl), { requestInit }));
    try {
      // The answer is a task, which this client cannot follow.
      await expect(client.callTool(transfer())).rejects.toMatchObject({ code: 'UNSUPPORTED_RESULT_TYPE' });
      expect(asked).toMatchObject([{ mode: 'form', requestedSchema: { required: ['justification'] } }]);
      expect(world.openings.map(({ binding }) => binding.input)).toEqual([
        { schemaUrl, additions: { context: { requester_input: { justification: 'as agreed' } } } },
      ]);
    } finally {
      await client.close();
    }
  });
});

describe('a client of an earlier revision', () => {
  const connect = async () => {
    const client = new EarlierClient({ name: 'earlier', version: '0' });
    await client.connect(new EarlierTransport(new URL(gateway.mcpUrl), { requestInit }));
    return client;
  };

  it('lists and calls allowed tools [STATELESS-025, REQ-012]', async () => {
    const client = await connect();
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(TOOLS);
      const result = await client.callTool(transfer());
      expect(result).toEqual({ content: [{ type: 'text', text: 'booked' }] });
      // The configuration may bring servers with anything while the session lasts.
      const listed = { listChanged: true };
      const lists = { tools: listed, prompts: listed, resources: { ...listed, subscribe: true }, completions: {} };
      expect(client.getServerCapabilities()).toEqual({ ...lists, logging: {} });
    } finally {
      await client.close();
    }
  });

  it('is told how to get an approval, and gets no task [TASK-105, DENIAL-033]', async () => {
    world.decision = requestable();
    const client = await connect();
    try {
      const result = await client.callTool(transfer());
      expect(result.isError).toBe(true);
      expect(JSON.stringify(result.content)).toMatch(/did not run.*declares the extension/);
      expect(result).not.toHaveProperty('taskId');
      expect(world.openings).toEqual([]);
    } finally {
      await client.close();
    }
  });
});
