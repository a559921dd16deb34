import { newId, type Dialect } from './dialect.ts';
import { textOf, turnOf, type Reply, type Said } from './turn.ts';

interface Message {
  readonly role: string;
  readonly content?: unknown;
}

const WHO: Readonly<Record<string, Said['by']>> = { user: 'person', tool: 'tool' };

/** OpenAI's chat completions, which many other vendors understand too. @see https://platform.openai.com/docs/api-reference/chat */
export const OPENAI_CHAT: Dialect = {
  path: /^\/v1\/chat\/completions$/,
  read({ tools = [], messages = [] }) {
    const offered = (tools as { function: { name: string } }[]).map((tool) => ({ name: tool.function.name }));
    const said = (messages as Message[]).map(({ role, content }) => ({
      by: WHO[role] ?? 'model',
      text: textOf(content),
    }));
    return turnOf(offered, said);
  },
  whole: (reply, { model }) => ({
    ...completion(model, 'chat.completion'),
    choices: [{ index: 0, message: { role: 'assistant', ...contentOf(reply) }, finish_reason: reasonOf(reply) }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }),
  events(reply, { model }) {
    const chunk = completion(model, 'chat.completion.chunk');
    const choice = (delta: object, finish_reason: string | null) => ({
      ...chunk,
      choices: [{ index: 0, delta, finish_reason }],
    });
    const { tool_calls: calls, ...words } = contentOf(reply);
    const indexed = calls?.map((call, index) => ({ index, ...call }));
    const delta = { role: 'assistant', ...words, ...(indexed && { tool_calls: indexed }) };
    return [{ data: choice(delta, null) }, { data: choice({}, reasonOf(reply)) }, { data: '[DONE]' }];
  },
  streams: (_path, { stream }) => stream === true,
};

const completion = (model: unknown, object: string) => ({ id: newId('chatcmpl-'), object, created: 0, model });

const contentOf = (reply: Reply) =>
  'call' in reply
    ? { content: null, tool_calls: [{ id: newId('call_'), type: 'function', function: functionOf(reply) }] }
    : { content: reply.text };

const functionOf = ({ call, args }: Extract<Reply, { call: unknown }>) => ({
  name: call.name,
  arguments: JSON.stringify(args),
});

const reasonOf = (reply: Reply) => ('call' in reply ? 'tool_calls' : 'stop');
