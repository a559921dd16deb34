import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

/**
 * What every log line says of the call that it is about, by the same names in every process: ids, and of people the subject and the
 * client. Never arguments, results, reasons or tokens.
 */
export interface LogScope {
  /** W3C trace id: 32 hexadecimal digits. */
  readonly trace?: string | undefined;
  readonly gatedCall?: string | undefined;
  readonly task?: string | undefined;
  readonly accessRequest?: string | undefined;
  readonly workflow?: string | undefined;
  /** The tool's public name. */
  readonly tool?: string | undefined;
  readonly subject?: string | undefined;
  readonly client?: string | undefined;
}

const scopes = new AsyncLocalStorage<{ fields: LogScope }>();

/** Does work whose log lines, and whose requests to other services, belong to what these fields name. */
export function inLogScope<T>(fields: LogScope, work: () => T): T {
  return scopes.run({ fields: { ...scopes.getStore()?.fields, ...fields } }, work);
}

/** Adds what the work in hand found out by now. Outside of a scope it does nothing. */
export function addToLogScope(fields: LogScope): void {
  const scope = scopes.getStore();
  if (scope !== undefined) scope.fields = { ...scope.fields, ...fields };
}

/** The fields of the work in hand; none outside of a scope. */
export const logScope = (): LogScope => scopes.getStore()?.fields ?? {};

/** Version 00, or a later one that begins like it. @see W3C Trace Context, traceparent header field values */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** The trace that a request belongs to; undefined where its header names none that is well-formed. */
export const traceIn = (traceparent: unknown): string | undefined =>
  typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;

/** A trace of its own, for work that belongs to none. */
export const newTrace = (): string => randomBytes(16).toString('hex');

/** The header by which another service finds its log lines together with ours. Empty outside of a trace. */
export function traceHeaders(): { traceparent?: string } {
  const { trace } = logScope();
  return trace === undefined ? {} : { traceparent: `00-${trace}-${randomBytes(8).toString('hex')}-01` };
}
