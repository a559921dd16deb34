import { canonicalJson } from '../workflows/domain/canonical-json.ts';
import type { InvocationResult } from '../workflows/domain/upstream-ports.ts';
import type { ActivityDeps } from './deps.ts';
import type { LifecycleStore } from './stores/lifecycle.store.ts';

/** Writes down how the one invocation ended, as far as that is certain; an answer that is missing is left open. */
export async function storeResult(
  { store, log }: Pick<ActivityDeps, 'store' | 'log'>,
  of: Parameters<LifecycleStore['settleResult']>[0],
  result: InvocationResult,
): Promise<void> {
  const { gatedCallId, invocationId } = of;
  if (result.kind === 'no_answer') {
    log.error({ gatedCall: gatedCallId, cause: result.cause }, 'an invocation got no answer; its outcome is unknown');
  } else if (result.kind === 'not_sent') {
    log.warn({ gatedCall: gatedCallId, cause: result.cause }, 'a claimed call was not sent');
    await store.settleNotSent(gatedCallId, invocationId);
  } else {
    const { isError, text } = storedResult(result);
    await store.settleResult(of, { isError, text });
  }
}

/** A JSON-RPC error means that the tool was reached and did not do what was asked: to the client it is a tool error. */
function storedResult(result: Extract<InvocationResult, { kind: 'result' | 'error' }>): {
  isError: boolean;
  text: string;
} {
  if (result.kind === 'result') return { isError: result.isError, text: JSON.stringify(result.result) };
  const { code, message, isOurs } = result;
  // Said apart: a text of the upstream in a sentence of ours would pass for our word.
  const texts = isOurs
    ? [message]
    : [`The upstream server answered with an error (${code}). The next text is its own:`, message];
  const content = texts.map((text) => ({ type: 'text', text }));
  return { isError: true, text: canonicalJson({ content, isError: true }) };
}
