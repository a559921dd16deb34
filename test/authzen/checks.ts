import assert from 'node:assert/strict';
import type { Endpoint } from '../../apps/pdp/tools/cases.ts';
import type { Answer, Target } from './target.ts';

/** One requirement of a PDP; `run` throws when the PDP does not meet it. */
export interface Check {
  /** The id in the certification scenario (`c-2-2-1`), or else a name. */
  readonly name: string;
  run(pdp: Target): Promise<void>;
}

export const user = (id: string, properties?: object) => ({ type: 'user', id, ...(properties && { properties }) });
export const record = (id: string, properties?: object) => ({ type: 'record', id, ...(properties && { properties }) });
export const action = (name: string, properties?: object) => ({ name, ...(properties && { properties }) });
/** The context that the scenario sends. */
export const CONTEXT = { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' };

/** Status 200 and a JSON object. */
export function succeeded({ status, headers, text, body }: Answer): Record<string, unknown> {
  assert.equal(status, 200, `status ${status}: ${text.slice(0, 200)}`);
  assert.match(headers.get('content-type') ?? '', /^application\/json(;|$)/);
  assert.ok(typeof body === 'object' && body !== null && !Array.isArray(body), 'the body is not a JSON object');
  return body as Record<string, unknown>;
}

/** Checks that a decision is well formed. Without `expected`, either decision passes. */
export function decided(value: unknown, expected?: boolean): void {
  assert.ok(typeof value === 'object' && value !== null, 'there is no decision object');
  const { decision, context } = value as Record<string, unknown>;
  assert.equal(typeof decision, 'boolean', 'decision is not a boolean');
  if (expected !== undefined) assert.equal(decision, expected, `decision is ${String(decision)}`);
  if (context !== undefined) assert.ok(typeof context === 'object' && context !== null && !Array.isArray(context));
}

/** A request with the expected decision. */
export const decides = (
  name: string,
  request: object,
  expected?: boolean,
  endpoint: Endpoint = 'evaluation',
): Check => ({
  name,
  run: async (pdp) => decided(succeeded(await pdp.post(endpoint, request)), expected),
});

/** A request that is refused with 400. */
export const refuses = (
  name: string,
  endpoint: Endpoint,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
): Check => ({
  name,
  run: async (pdp) => assert.equal((await pdp.post(endpoint, body, headers)).status, 400),
});
