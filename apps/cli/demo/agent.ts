import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, type TaskView } from '@modelcontextprotocol/ext-tasks/client';
import { rawDispatchOver } from './raw-dispatch.ts';

const clientInfo = { name: 'demo-agent', version: '1.0.0' };
const clientCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const PROTOCOL_VERSION = '2026-07-28';

/** What a tool call came to, as an agent sees it. */
export interface ToolAnswer {
  /** Set when the server answered with a task first. */
  readonly taskId?: string;
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly isError: boolean;
  readonly text: string;
}

/** An MCP client on the official tasks package. It knows tools and tasks, and nothing of approvals. */
export interface Agent {
  toolNames(): Promise<string[]>;
  /** Calls a tool and follows the task, if there is one, to its end. */
  call(name: string, args: Record<string, string>, onTask?: (task: TaskView) => void): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** `fetchWith`: what requests are sent with, for those who want to see them. */
export async function connectAgent(mcpUrl: string, token: string, fetchWith: typeof fetch = fetch): Promise<Agent> {
  const client = new Client(clientInfo, {
    capabilities: clientCapabilities,
    versionNegotiation: { mode: { pin: PROTOCOL_VERSION } },
  });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(mcpUrl), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
      fetch: fetchWith,
    }),
  );
  const session = createTaskSessionFromClient(client, {
    endpointId: mcpUrl,
    rawDispatch: rawDispatchOver(client),
    v2RequestFraming: { protocolVersion: PROTOCOL_VERSION, clientInfo, clientCapabilities },
  });

  return {
    async toolNames() {
      return (await client.listTools()).tools.map((tool) => tool.name);
    },
    async call(name, args, onTask) {
      const execution = await session.callTool(name, args);
      const { outcome } = await execution.settle({
        onEvent: (event) => {
          if (event.type === 'task') onTask?.(event.task);
        },
      });
      const task = execution.kind === 'task' ? { taskId: String(execution.handle.taskId) } : {};
      if (outcome.status === 'completed') {
        const { content = [], isError = false } = outcome.result as {
          content?: { text?: string }[];
          isError?: boolean;
        };
        return { ...task, status: 'completed', isError, text: content.map((block) => block.text ?? '').join('\n') };
      }
      const text = outcome.status === 'failed' ? outcome.error.message : 'cancelled';
      return { ...task, status: outcome.status, isError: true, text };
    },
    async close() {
      await session.close();
      await client.close();
    },
  };
}
