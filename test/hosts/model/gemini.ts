import type { Dialect } from './dialect.ts';
import { turnOf, type Reply, type Said } from './turn.ts';

interface Part {
  readonly text?: string;
  readonly functionResponse?: { readonly response?: Readonly<Record<string, unknown>> };
}

interface Content {
  readonly role?: string;
  readonly parts?: readonly Part[];
}

/** Gemini's `generateContent` and `streamGenerateContent`. @see https://ai.google.dev/api/generate-content */
export const GEMINI: Dialect = {
  path: /^\/v1(?:beta)?\/models\/[^/]+:(?:generateContent|streamGenerateContent)$/,
  read({ tools = [], contents = [] }) {
    const offered = (tools as { functionDeclarations?: { name: string }[] }[]).flatMap(
      (tool) => tool.functionDeclarations ?? [],
    );
    return turnOf(offered, (contents as Content[]).flatMap(saidIn));
  },
  whole,
  events: (reply) => [{ data: whole(reply) }],
  streams: (path) => path.endsWith(':streamGenerateContent'),
};

function saidIn({ role, parts = [] }: Content): Said[] {
  return parts.map(({ text, functionResponse }) => {
    if (functionResponse !== undefined) return { by: 'tool', text: wordsOf(functionResponse.response ?? {}) };
    return { by: role === 'model' ? 'model' : 'person', text: text ?? '' };
  });
}

/** Hosts put a result into `output`, and an error into `error`. */
const wordsOf = (response: Readonly<Record<string, unknown>>) =>
  Object.values(response)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join('\n');

function whole(reply: Reply): object {
  const part = 'call' in reply ? { functionCall: { name: reply.call.name, args: reply.args } } : { text: reply.text };
  return {
    candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
}
