import { newId, type Dialect, type SentEvent } from './dialect.ts';
import { textOf, turnOf, type Reply, type Said } from './turn.ts';

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly content?: unknown;
}

interface Message {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string | readonly Block[];
}

/** Anthropic's messages. @see https://docs.anthropic.com/en/api/messages */
export const ANTHROPIC: Dialect = {
  path: /^\/v1\/messages$/,
  read({ tools = [], messages = [] }) {
    return turnOf(tools as { name: string }[], (messages as Message[]).flatMap(saidIn));
  },
  whole: (reply, { model }) => ({
    ...message(model),
    content: [blockOf(reply)],
    stop_reason: stopReasonOf(reply),
  }),
  events(reply, { model }) {
    const block = blockOf(reply);
    const [empty, delta] =
      'call' in reply
        ? [
            { ...block, input: {} },
            { type: 'input_json_delta', partial_json: JSON.stringify(reply.args) },
          ]
        : [
            { ...block, text: '' },
            { type: 'text_delta', text: reply.text },
          ];
    const ends = { delta: { stop_reason: stopReasonOf(reply), stop_sequence: null }, usage: { output_tokens: 1 } };
    return [
      named('message_start', { message: message(model) }),
      named('content_block_start', { index: 0, content_block: empty }),
      named('content_block_delta', { index: 0, delta }),
      named('content_block_stop', { index: 0 }),
      named('message_delta', ends),
      named('message_stop', {}),
    ];
  },
  streams: (_path, { stream }) => stream === true,
};

function saidIn({ role, content }: Message): Said[] {
  if (role !== 'user') return [{ by: 'model', text: textOf(content) }];
  if (typeof content === 'string') return [saidByHost(content)];
  return content.map((block) =>
    block.type === 'tool_result' ? { by: 'tool', text: textOf(block.content) } : saidByHost(block.text ?? ''),
  );
}

/** Claude Code tells of the end of a task where a person's words stand. */
const NOTICE = /<task-notification>.*<result>\s*(.*?)\s*<\/result>/s;

function saidByHost(text: string): Said {
  const [, result] = NOTICE.exec(text) ?? [];
  return result === undefined ? { by: 'person', text } : { by: 'tool', text: result };
}

const named = (type: string, more: object): SentEvent => ({ event: type, data: { type, ...more } });

const message = (model: unknown) => ({
  ...{ id: newId('msg_'), type: 'message', role: 'assistant', model, content: [] },
  ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
});

const blockOf = (reply: Reply) =>
  'call' in reply
    ? { type: 'tool_use', id: newId('toolu_'), name: reply.call.name, input: reply.args }
    : { type: 'text', text: reply.text };

const stopReasonOf = (reply: Reply) => ('call' in reply ? 'tool_use' : 'end_turn');
