import * as z from 'zod';
import { systemClock } from '../shared/clock.ts';
import type { Limits } from '../shared/limits.ts';
import { CliError } from './context.ts';

const problemSchema = z.looseObject({ title: z.string().optional(), detail: z.string().optional() });

/** Speaks JSON to one of the services as one person. */
export interface Api {
  get<T>(path: string, schema: z.ZodType<T>): Promise<T>;
  post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T>;
}

/** What answers in another form than expected, refuses, or does not answer becomes one line that says so. */
export function createApi(base: string, token: string, limits: Limits): Api {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  return {
    get: (path, schema) => ask(new URL(base + path), { headers }, { schema, limits }),
    post: (path, body, schema) =>
      ask(
        new URL(base + path),
        { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) },
        { schema, limits },
      ),
  };
}

async function ask<T>(
  url: URL,
  init: RequestInit,
  { schema, limits }: { schema: z.ZodType<T>; limits: Limits },
): Promise<T> {
  const signal = systemClock.signalAfter(limits.commandMs);
  const response = await fetch(url, { ...init, redirect: 'manual', signal }).catch((cause: unknown) => {
    throw new CliError(`nothing answers at ${url.origin}; start everything with \`npm start\``, { cause });
  });
  const text = await response.text();
  const body = parse(text);
  if (!response.ok) throw new CliError(refusal(url, response.status, body));
  const answer = schema.safeParse(body);
  if (answer.success) return answer.data;
  throw new CliError(`${url.origin} answered in a form this version does not know; is it another version?`, {
    cause: answer.error,
  });
}

function refusal(url: URL, status: number, body: unknown): string {
  const { title, detail } = problemSchema.safeParse(body).data ?? {};
  const said = [title, detail].filter(Boolean).join(': ');
  return said === '' ? `${url.origin} refused with status ${status}` : `${said} (${status})`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
