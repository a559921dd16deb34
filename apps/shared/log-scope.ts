import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

/**
 * The fields of every log line about a call, with the same names in every process: ids, the subject and the client. Never arguments,
 * results, reasons or tokens.
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

/** Runs work whose log lines, and requests to other services, carry these fields. */
export function inLogScope<T>(fields: LogScope, work: () => T): T {
  return scopes.run({ fields: { ...scopes.getStore()?.fields, ...fields } }, work);
}

/** Adds fields to the current scope. Has no effect outside of one. */
export function addToLogScope(fields: LogScope): void {
  const scope = scopes.getStore();
  if (scope !== undefined) scope.fields = { ...scope.fields, ...fields };
}

/** The fields of the current scope; empty outside of one. */
export const logScope = (): LogScope => scopes.getStore()?.fields ?? {};

/** Version 00, or a later one that begins alike. @see W3C Trace Context, traceparent header field values */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** The trace of a request; undefined without a well-formed header. */
export const traceIn = (traceparent: unknown): string | undefined =>
  typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;

/** 32 random hexadecimal digits; the last 16 are never all zero. Node makes UUIDs from a stock of random bytes, so one costs little. */
const randomDigits = (): string => randomUUID().replaceAll('-', '');

/** A new trace, for work without one. */
export const newTrace = (): string => randomDigits();

/** The header that connects the log lines of another service with ours. Empty outside of a trace. */
export function traceHeaders(): { traceparent?: string } {
  const { trace } = logScope();
  return trace === undefined ? {} : { traceparent: `00-${trace}-${randomDigits().slice(16)}-01` };
}
