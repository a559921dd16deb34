import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { serve } from './serve.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

export interface Said {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/**
 * A policy decision point that gives the test's answers, path by path, and remembers the requests. A path without an
 * answer does not exist (404); so without any it has no metadata.
 */
export async function startScriptedPdp() {
  const answers = new Map<string, (asked: Asked) => Said | Promise<Said>>();
  const asked: Asked[] = [];
  const server = await serve((request, response) => {
    void text(request).then(async (received) => {
      const { method = '', url: path = '', headers } = request;
      const one = { method, path, headers, body: received === '' ? undefined : (JSON.parse(received) as unknown) };
      asked.push(one);
      const { status = 200, headers: more = {}, body = {} } = (await answers.get(path)?.(one)) ?? { status: 404 };
      response.writeHead(status, { 'content-type': 'application/json', ...more });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  return {
    url: server.url,
    /** All requests, oldest first. */
    asked,
    askedAt: (path: string) => asked.filter((one) => one.path === path),
    says(path: string, said: Said | ((asked: Asked) => Said | Promise<Said>)): void {
      answers.set(path, typeof said === 'function' ? said : () => said);
    },
    /** Forgets its answers and the requests. */
    reset(): void {
      answers.clear();
      asked.length = 0;
    },
    close: () => server.close(),
  };
}

export type ScriptedPdp = Awaited<ReturnType<typeof startScriptedPdp>>;
