import express from 'express';
import { serve } from './serve.ts';

const LISTS: Readonly<Record<string, string>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

type Pages = readonly { readonly entries: readonly unknown[]; readonly nextCursor?: unknown }[];

/** The sessions that the server knows, and the status with which it refuses others. */
interface Sessions {
  readonly known: Set<string>;
  status: number;
  /** Refuses calls with the same status, in sessions that it knows. */
  refusesCalls?: boolean;
}

/**
 * An upstream of an earlier revision that lists exactly these entries, right or wrong. `pages` says how its lists of tools go on. It answers
 * each call with a text, and counts its lists and calls.
 */
export async function startListingUpstream(lists: Readonly<Record<string, readonly unknown[]>>, pages?: () => Pages) {
  const upstream = {
    lists,
    pages,
    asked: [] as unknown[],
    called: [] as string[],
    sessions: undefined as Sessions | undefined,
  };
  const listOf = (member: string, cursor: unknown) => {
    if (member !== 'tools' || upstream.pages === undefined) return { [member]: upstream.lists[member] ?? [] };
    upstream.asked.push(cursor);
    const all = upstream.pages();
    const at = cursor === undefined ? 0 : all.findIndex(({ nextCursor }) => nextCursor === cursor) + 1;
    const { entries = [], ...more } = all[Math.min(at, all.length - 1)] ?? {};
    return { tools: entries, ...more };
  };
  const app = express();
  app.post('/', express.json(), (request, response) => {
    const {
      id,
      method,
      params = {},
    } = request.body as { id?: unknown; method: string; params?: Record<string, never> };
    const { sessions } = upstream;
    const isNew = method === 'initialize';
    const isKnown = isNew || sessions?.known.has(request.get('mcp-session-id') ?? '') !== false;
    if (isNew && sessions !== undefined) {
      const session = `session-${Math.random()}`;
      sessions.known.add(session);
      response.set('mcp-session-id', session);
    }
    if (!isKnown || (sessions?.refusesCalls === true && method === 'tools/call')) {
      const error = { code: -32_000, message: 'Bad Request: no such session' };
      return void response.status(sessions?.status ?? 500).json({ jsonrpc: '2.0', id: null, error });
    }
    if (id === undefined) return void response.status(202).end();
    const answer = (result: object) => void response.json({ jsonrpc: '2.0', id, result });
    const member = LISTS[method];
    if (member !== undefined) return answer(listOf(member, params['cursor']));
    if (method === 'initialize') {
      const capabilities = { tools: {}, prompts: {}, resources: {} };
      const serverInfo = { name: 'listing', version: '1' };
      return answer({ protocolVersion: params['protocolVersion'], capabilities, serverInfo });
    }
    if (method === 'ping') return answer({});
    if (method === 'tools/call') {
      upstream.called.push(params['name'] ?? '');
      return answer({ content: [{ type: 'text', text: 'ran' }] });
    }
    response.json({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'no such method' } });
  });
  const { url, close } = await serve(app);
  return Object.assign(upstream, { url, close });
}
