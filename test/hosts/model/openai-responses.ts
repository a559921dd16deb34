import { newId, type Dialect, type SentEvent } from './dialect.ts';
import { textOf, turnOf, type Offered, type Reply, type Said } from './turn.ts';

interface Item {
  readonly type?: string;
  readonly role?: string;
  readonly content?: unknown;
  readonly output?: unknown;
}

interface Tool {
  readonly type: string;
  readonly name?: string;
  readonly tools?: readonly { readonly name: string }[];
}

/** OpenAI's responses. @see https://platform.openai.com/docs/api-reference/responses */
export const OPENAI_RESPONSES: Dialect = {
  path: /^\/v1\/responses$/,
  read({ tools = [], input = [] }) {
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input as Item[]);
    return turnOf((tools as Tool[]).flatMap(offeredBy), items.flatMap(saidIn));
  },
  whole: (reply, body) => response(body, 'completed', [itemOf(reply)]),
  events(reply, body) {
    const item = itemOf(reply);
    const began = response(body, 'in_progress', []);
    return [
      named('response.created', { response: began }),
      named('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress' } }),
      named('response.output_item.done', { output_index: 0, item }),
      named('response.completed', { response: { ...began, status: 'completed', output: [item] } }),
    ].map(({ data, ...sent }, sequence_number) => ({ ...sent, data: { ...data, sequence_number } }));
  },
  streams: (_path, { stream }) => stream === true,
};

/** Servers of MCP are groups of functions in some versions of Codex. */
function offeredBy({ type, name, tools = [] }: Tool): Offered[] {
  if (type === 'namespace') return tools.map((tool) => ({ name: tool.name, ...(name && { namespace: name }) }));
  return type === 'function' && name !== undefined ? [{ name }] : [];
}

function saidIn({ type = 'message', role, content, output }: Item): Said[] {
  if (type === 'function_call_output') return [{ by: 'tool', text: textOf(output) }];
  if (type !== 'message') return [];
  return [{ by: role === 'user' ? 'person' : 'model', text: textOf(content) }];
}

const named = (type: string, more: object): SentEvent & { data: object } => ({ event: type, data: { type, ...more } });

const response = ({ model }: Record<string, unknown>, status: string, output: readonly object[]) => ({
  ...{ id: newId('resp_'), object: 'response', created_at: 0, model, status, output, tools: [], error: null },
  ...{ parallel_tool_calls: false, tool_choice: 'auto', incomplete_details: null, instructions: null, metadata: {} },
  usage: {
    ...{ input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    ...{ input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  },
});

function itemOf(reply: Reply): object {
  if ('call' in reply) {
    const call = { call_id: newId('call_'), ...reply.call, arguments: JSON.stringify(reply.args) };
    return { type: 'function_call', id: newId('fc_'), status: 'completed', ...call };
  }
  const content = [{ type: 'output_text', text: reply.text, annotations: [], logprobs: [] }];
  return { type: 'message', id: newId('msg_'), status: 'completed', role: 'assistant', content };
}
