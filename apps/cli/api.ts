import * as z from 'zod';
import { systemClock } from '../shared/clock.ts';
import type { Limits } from '../shared/limits.ts';
import { CliError } from './context.ts';

const problemSchema = z.looseObject({ title: z.string().optional(), detail: z.string().optional() });

/** One of the services, called with the token of one person. */
export interface Api {
  get<T>(path: string, schema: z.ZodType<T>): Promise<T>;
  post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T>;
}

/** A missing, refusing or unexpected answer becomes an error of one line. */
export function createApi(base: string, token: string, limits: Limits): Api {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const json = { ...headers, 'content-type': 'application/json' };
  const call = async <T>(path: string, schema: z.ZodType<T>, init: RequestInit): Promise<T> => {
    const url = new URL(base + path);
    const answer = schema.safeParse(await send(url, { ...init, signal: systemClock.signalAfter(limits.commandMs) }));
    if (answer.success) return answer.data;
    throw new CliError(`${url.origin} sent an unexpected answer; use the countersign command of the same version`, {
      cause: answer.error,
    });
  };
  return {
    get: (path, schema) => call(path, schema, { headers }),
    post: (path, body, schema) => call(path, schema, { method: 'POST', headers: json, body: JSON.stringify(body) }),
  };
}

async function send(url: URL, init: RequestInit): Promise<unknown> {
  const response = await fetch(url, { ...init, redirect: 'manual' }).catch((cause: unknown) => {
    throw new CliError(`nothing answers at ${url.origin}; start everything with \`npm start\``, { cause });
  });
  const body = parse(await response.text());
  if (response.ok) return body;
  const { title, detail } = problemSchema.safeParse(body).data ?? {};
  const reason = [title, detail].filter(Boolean).join(': ');
  throw new CliError(`${reason === '' ? `${url.origin} refused the request` : reason} (${response.status})`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
