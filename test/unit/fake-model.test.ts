import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { FakeModel } from '../hosts/model/fake-model.ts';

const TASK = 'Call the tool files__write_file with {"path":"a"}';
const REFERENCE = `req_${'0'.repeat(32)}`;
const STILL_OPEN = `The tool has not run. Next step: call get_request_status with the reference ${REFERENCE}, which waits.`;
const NAMES = ['c__files__write_file', 'c__get_request_status'];

interface Form {
  readonly path: string;
  /** A request with these words of the person, and these results after them. */
  readonly body: (words: string, results: readonly string[]) => object;
}

const functions = NAMES.map((name) => ({ type: 'function', function: { name } }));
const CHAT: Form = {
  path: '/v1/chat/completions',
  body: (words, results) => ({
    messages: [{ role: 'user', content: words }, ...results.map((content) => ({ role: 'tool', content }))],
    tools: functions,
  }),
};
const RESPONSES: Form = {
  path: '/v1/responses',
  body: (words, results) => ({
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: words }] },
      ...results.map((output) => ({ type: 'function_call_output', output })),
    ],
    tools: [{ type: 'namespace', name: 'c', tools: NAMES.map((name) => ({ name })) }],
  }),
};
const ANTHROPIC: Form = {
  path: '/v1/messages',
  body: (words, results) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Today is Monday.' },
          { type: 'text', text: words },
        ],
      },
      ...results.map((content) => ({ role: 'user', content: [{ type: 'tool_result', content }] })),
    ],
    tools: NAMES.map((name) => ({ name })),
  }),
};
const GEMINI: Form = {
  path: '/v1beta/models/any:generateContent',
  body: (words, results) => ({
    contents: [
      { role: 'user', parts: [{ text: words }] },
      ...results.map((output) => ({ role: 'user', parts: [{ functionResponse: { response: { output } } }] })),
    ],
    tools: [{ functionDeclarations: NAMES.map((name) => ({ name })) }],
  }),
};
const FORMS = [
  ['chat completions', CHAT],
  ['responses', RESPONSES],
  ['messages', ANTHROPIC],
  ['generateContent', GEMINI],
] as const;

let model: FakeModel;
beforeAll(async () => {
  model = await new FakeModel().start();
});
afterAll(() => model.stop());

const post = (path: string, body: object) =>
  fetch(`${model.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
const ask = async ({ path, body }: Form, words: string, ...results: string[]) =>
  (await post(path, body(words, results))).text();

it.each(FORMS)('calls the tool that the words name, in %s', async (_name, form) => {
  const said = await ask(form, TASK);
  expect(said).toContain('"c__files__write_file"');
  expect(said.replaceAll('\\', '')).toContain('"path":"a"');
});

it.each(FORMS)('repeats the result of the tool, in %s', async (_name, form) => {
  const said = await ask(form, TASK, 'It is written.');
  expect(said).toContain('It is written.');
  expect(said).not.toContain('c__files__write_file"');
});

it.each(FORMS)('lists what it may call, in %s', async (_name, form) => {
  expect(await ask(form, 'List your tools')).toContain(NAMES.join(' '));
});

it.each(FORMS)('follows a call to its end only if it was asked to, in %s', async (_name, form) => {
  expect(await ask(form, TASK, STILL_OPEN)).toContain('The tool has not run');
  const said = await ask(form, `${TASK}, and follow it to its end`, STILL_OPEN);
  expect(said).toContain('"c__get_request_status"');
  expect(said).toContain(REFERENCE);
});

it.each(FORMS)('makes the next call after the result of the one before, in %s', async (_name, form) => {
  const both = `${TASK}, then call the tool get_request_status with {"reference":"b"}`;
  expect(await ask(form, both)).toContain('"c__files__write_file"');
  expect(await ask(form, both, 'It is written.')).toContain('"c__get_request_status"');
  expect(await ask(form, both, 'It is written.', 'It ran once.')).toContain('It ran once.');
});

it('repeats the result of a task, of which Claude Code tells in the words of a person', async () => {
  const notice =
    '<task-notification>\n<status>completed</status>\n<result>\nIt ran once.\n</result>\n</task-notification>';
  const { messages, tools } = ANTHROPIC.body(TASK, ['It is a task.']) as { messages: object[]; tools: object[] };
  const told = [...messages, { role: 'user', content: [{ type: 'text', text: notice }] }];
  const said = await (await post(ANTHROPIC.path, { messages: told, tools })).text();
  expect(said).toContain('"It ran once."');
});

it.each([
  ['chat completions', CHAT.path, CHAT.body],
  ['responses', RESPONSES.path, RESPONSES.body],
  ['messages', ANTHROPIC.path, ANTHROPIC.body],
  ['streamGenerateContent', '/v1beta/models/any:streamGenerateContent', GEMINI.body],
] as const)('answers in events where the host asks for them, in %s', async (_name, path, body) => {
  const response = await post(path, { ...body(TASK, []), stream: true });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const events = (await response.text()).split('\n').filter((line) => line.startsWith('data: '));
  expect(events.join('')).toContain('c__files__write_file');
});

it('says that it has no such tool', async () => {
  expect(await ask(CHAT, 'Call the tool other with {}')).toContain('There is no tool other');
});

it('answers 404 on a path that it does not know, and notes it', async () => {
  const response = await fetch(`${model.url}/v1/models`);
  expect([response.status, model.unknown]).toEqual([404, ['GET /v1/models']]);
});
