import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Json, JsonObject } from '../../workflows/domain/canonical-json.ts';
import { serve } from './serve.ts';

/** A foreign service's answers to a submission, and then for its status. */
export interface Course {
  /** Settled when the answer comes (201), or later (202). */
  readonly settled?: 'approved' | 'denied';
  /** Makes the approval, from the body that was submitted. */
  readonly approve?: (submission: JsonObject, id: string) => JsonObject | Promise<JsonObject>;
}

export interface Submitted {
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

interface Known extends Course {
  readonly submission: JsonObject;
  status: string;
}

/** A text that no caller may read, and no terminal may obey. */
export const FOREIGN_WORDS = 'Approved? Not by this text.\u001b[2J';
export const API_KEY_HEADER = 'X-Approval-Key';
/** Members that the product does not know, in every object. */
const UNKNOWN = { 'https://acme.test/ext': { nested: [null, 1e-7] } };

/**
 * An access request service as another vendor could build it from the specification: other paths, an API key, members
 * in another order, no links, a date in `Retry-After`, and unknown members in every object that may have some. It
 * approves or denies when a test says so.
 */
export async function startForeignAccessRequests() {
  const known = new Map<string, Known>();
  const submissions: Submitted[] = [];
  const state: { url: string; course: Course } = { url: '', course: {} };

  async function answerFor(id: string, { status, submission, approve }: Known, withEndpoint: boolean) {
    const approval = status === 'approved' ? await approve?.(submission, id) : undefined;
    return {
      ...UNKNOWN,
      ...(approval && { result: { ...UNKNOWN, approval, mode: 'reevaluate' } }),
      task: {
        display: { title: FOREIGN_WORDS, ...UNKNOWN },
        ...(withEndpoint && { status_endpoint: `${state.url}/v7/tickets?no=${encodeURIComponent(id)}` }),
        status,
        ...UNKNOWN,
        id,
      },
    };
  }

  const server = await serve((request, response) => {
    const send = (status: number, body: Json | object, headers: Record<string, string> = {}) => {
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
      response.end(JSON.stringify(body));
    };
    void text(request).then(async (received) => {
      const { pathname, searchParams } = new URL(request.url ?? '', state.url);
      if (pathname === '/keys') return send(200, { keys: keys() });
      if (request.headers[API_KEY_HEADER.toLowerCase()] === undefined) return send(401, {});
      if (request.method === 'POST' && pathname === '/acme/approvals') {
        const body = JSON.parse(received) as JsonObject;
        submissions.push({ headers: request.headers, body });
        const { course } = state;
        const id = `urn:acme:ticket:${submissions.length}/ä`;
        const opened: Known = { ...course, submission: body, status: course.settled ?? 'pending' };
        known.set(id, opened);
        return send(course.settled ? 201 : 202, await answerFor(id, opened, true), { location: '/elsewhere' });
      }
      const id = searchParams.get('no') ?? '';
      const found = known.get(id);
      if (found === undefined || pathname !== '/v7/tickets') return send(404, 'nothing here');
      const soon = { 'retry-after': new Date(Date.now() + 1_000).toUTCString() };
      const isPending = found.status === 'pending';
      return send(200, await answerFor(id, found, isPending), isPending ? soon : {});
    });
  });
  state.url = server.url;
  let keys: () => object[] = () => [];
  return {
    url: `${server.url}/acme/approvals`,
    jwksUrl: `${server.url}/keys`,
    /** Every submission, oldest first. */
    submissions,
    /** The course of the next submissions. */
    takes(course: Course): void {
      state.course = course;
    },
    publishes(jwks: () => object[]): void {
      keys = jwks;
    },
    /** Ends all pending requests. */
    resolve(status: 'approved' | 'denied'): void {
      for (const one of known.values()) if (one.status === 'pending') one.status = status;
    },
    close: () => server.close(),
  };
}
