import { Agent, request, type IncomingMessage } from 'node:http';
import type { HttpRequest, Plan } from './requests.ts';

/** An answer as it arrived. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** Details that a client must not see: places in the code, pages of the framework, names of parts. */
const INSIDE = /\bat .*:\d+:\d+|node_modules|<html|<!DOCTYPE|ZodError|Prisma|postgres|ECONNREFUSED|canary/i;
/** The longest answer that is kept. */
const MAX_CHARACTERS = 1_000_000;

/** Connections that are reused, as clients do. */
export const createAgent = (atOnce: number): Agent => new Agent({ keepAlive: true, maxSockets: atOnce });

/**
 * Sends a request. `undefined`: the client left before the answer, as planned. Rejects when the gateway cuts it off, but not
 * when the gateway had closed the connection before it knew of the request.
 */
export function exchange(
  to: HttpRequest,
  leaves: Plan['leaves'],
  of: { readonly mcpUrl: string; readonly agent: Agent },
): Promise<Answer | undefined> {
  const { hostname, port } = new URL(of.mcpUrl);
  const headers = [...to.headers, ['content-length', String(to.body.length)]].flat();
  return new Promise((resolve, reject) => {
    const { method, path } = to;
    const outgoing = request({ hostname, port, agent: of.agent, method, path, headers, setHost: false });
    const leave = () => {
      outgoing.off('error', onError).on('error', () => undefined);
      outgoing.once('close', () => resolve(undefined)).destroy();
    };
    const onError = (error: Error) => {
      if (outgoing.reusedSocket) exchange(to, leaves, of).then(resolve, reject);
      else reject(error);
    };
    outgoing.once('error', onError);
    outgoing.once('response', (answer) => void read(answer, method).then(resolve, reject));
    if (leaves === 'half way') outgoing.write(to.body.subarray(0, to.body.length / 2), leave);
    else if (leaves === 'at once') outgoing.end(to.body, leave);
    else outgoing.end(to.body);
  });
}

/** Reads to the end; of streams that have none, to the acknowledgement of a subscription, or to the first bytes for a session. */
async function read(answer: IncomingMessage, method: string): Promise<Answer> {
  const isEndless = method === 'GET' && answer.headers['content-type'] === 'text/event-stream';
  let text = '';
  for await (const chunk of answer.setEncoding('utf8') as AsyncIterable<string>) {
    if (text.length < MAX_CHARACTERS) text += chunk;
    if (isEndless || text.includes('"notifications/subscriptions/acknowledged"')) break;
  }
  return { status: answer.statusCode ?? 0, contentType: answer.headers['content-type'] ?? '', text };
}

/** The fault of an answer to any request; `undefined` when a gateway may give this answer. */
export function faultOf(
  answer: Answer,
  { isAuthorized, isForeign }: { readonly isAuthorized: boolean; readonly isForeign: boolean },
): string | undefined {
  const { status, contentType, text } = answer;
  if (status >= 500) return 'a fault of the server';
  if (INSIDE.test(text)) return 'an answer with internal details';
  if (status < 400 && !isAuthorized) return 'served without a good token';
  // A body that cannot be kept exactly is refused with the status 200, before its session is looked for.
  const isRefused = /json/.test(contentType) && errorCodeIn(text) !== undefined;
  if (status < 400 && isForeign && !isRefused) return 'served in a session that its caller does not have';
  if (/"message":"Internal error"/.test(text)) return 'an unexpected error';
  if (text !== '' && /json/.test(contentType) && !isJson(text)) return 'an answer that is not the JSON it says it is';
  return undefined;
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

const errorCodeIn = (text: string): string | undefined => /"error":\{"code":(-?\d+)/.exec(text)?.[1];

/** The kind of an answer in one word, for counting. */
export function kindOf(answer: Answer | undefined): string {
  if (answer === undefined) return 'left';
  const code = errorCodeIn(answer.text);
  if (code !== undefined) return `${answer.status} ${code}`;
  const type = /"resultType":"(\w+)"/.exec(answer.text)?.[1];
  const isStream = answer.contentType === 'text/event-stream';
  return [answer.status, type ?? (isStream ? 'stream' : undefined)].filter((part) => part !== undefined).join(' ');
}
