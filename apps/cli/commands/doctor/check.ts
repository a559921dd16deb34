/** The result of one check. `advice` is the next step. */
export interface Finding {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  readonly advice?: string;
}

type Report = (name: string, message: string, advice: string) => Finding;

export const ok = (name: string, message: string): Finding => ({ name, status: 'ok', message });
export const warn: Report = (name, message, advice) => ({ name, status: 'warn', message, advice });
export const fail: Report = (name, message, advice) => ({ name, status: 'fail', message, advice });

/** Runs a check. An exception becomes a failure with this advice. */
export async function attempt(name: string, advice: string, check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    return fail(name, reason(error), advice);
  }
}

/** The innermost reason. The outer errors of `fetch` and of drivers say less. */
export function reason(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reason(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? withoutPage(error.message) : reason(error.cause);
}

/** Many servers answer with a page for browsers where they have no MCP endpoint. */
function withoutPage(message: string): string {
  const start = message.search(/<!doctype html|<html/i);
  return start === -1 ? message : `${message.slice(0, start)}a page for browsers. It is no MCP endpoint`;
}
