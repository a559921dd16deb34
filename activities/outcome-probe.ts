import * as z from 'zod';
import type { JsonObject } from '../workflows/domain/canonical-json.ts';
import type { InvocationResult } from '../workflows/domain/upstream-ports.ts';
import type { ActivityDeps } from './deps.ts';
import type { CallProgress } from './stores/stored-call.ts';

const annotations = z.object({ annotations: z.object({ readOnlyHint: z.literal(true) }) });

/** What a probe tool answers in its `structuredContent`. Anything else says nothing. */
const answer = z.looseObject({
  outcome: z.enum(['done', 'never']),
  /** The `CallToolResult` of the execution that was done. */
  result: z
    .looseObject({ content: z.array(z.looseObject({ type: z.string() })), isError: z.boolean().optional() })
    .optional(),
});

const DONE = { content: [{ type: 'text', text: 'The tool ran. Its own answer was lost.' }] };

/**
 * Asks the upstream what became of an execution whose answer was lost: by a read-only tool of the same upstream that the
 * configuration names, which is given the idempotency key of the one invocation. It is never a second call of the tool.
 * `never` has to mean that the upstream has not run it and will not, should the call still arrive. Undefined: nothing
 * certain is known. A tool that does not say of itself that it only reads is never asked: it would be run again and again.
 */
export function createOutcomeProbe(deps: Pick<ActivityDeps, 'upstreams' | 'settings' | 'log' | 'clock' | 'limits'>) {
  const { upstreams, settings, log, clock, limits } = deps;
  return async (call: CallProgress, upstreamKey: string): Promise<InvocationResult | undefined> => {
    const probe = settings.outcomeProbes[call.tool];
    if (probe === undefined) return undefined;
    try {
      const tool = await upstreams.find(publicNameBeside(call, probe));
      if (!annotations.safeParse(tool?.definition).success) {
        log.error({ tool: call.tool, probe }, 'an outcome probe is not there or lacks readOnlyHint; it is not asked');
        return undefined;
      }
      const said = await upstreams.call(
        { upstream: call.upstream, upstreamTool: probe, arguments: { idempotency_key: upstreamKey } },
        { signal: clock.signalAfter(limits.outcomeProbeMs) },
      );
      return said.kind === 'result' && !said.isError ? read(said.result) : undefined;
    } catch (error) {
      log.warn({ gatedCall: call.gatedCallId, err: error }, 'an outcome probe failed');
      return undefined;
    }
  };
}

/** The public name of another tool of the call's upstream: what comes before a tool's own name is the same for both. */
const publicNameBeside = ({ tool, upstreamTool }: Pick<CallProgress, 'tool' | 'upstreamTool'>, another: string) =>
  `${tool.slice(0, tool.length - upstreamTool.length)}${another}`;

function read(result: JsonObject): InvocationResult | undefined {
  const said = answer.safeParse(result['structuredContent']);
  if (!said.success) return undefined;
  if (said.data.outcome === 'never') return { kind: 'not_sent', cause: 'the upstream says that it has not run' };
  const ran = (said.data.result ?? DONE) as unknown as JsonObject;
  return { kind: 'result', isError: ran['isError'] === true, result: ran };
}
