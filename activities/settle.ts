import * as z from 'zod';
import type { ActivityPorts, Released } from '../workflows/activity-ports.ts';
import type { JsonObject } from '../workflows/domain/canonical-json.ts';
import { pauseMs } from '../workflows/domain/gated-call/deadlines.ts';
import { isTerminal } from '../workflows/domain/gated-call/gated-call.ts';
import type { InvocationResult } from '../workflows/domain/upstream-ports.ts';
import { storeResult } from './invoke-tool.ts';
import { type ActivityDeps, LATER_MS } from './step.ts';
import type { CallProgress } from './stores/stored-call.ts';

/** The outcome cannot be told now: mostly while the database is frozen. */
const LATER = { kind: 'retry', waitMs: LATER_MS } as const;
const PROBE_PAUSE_MS = 2_000;

/** Before a call whose claim was given up is decided anew: longer with each claim, since what kept it may last. */
const RELEASED_MIN_MS = 1_000;
const RELEASED_MAX_MS = 60_000;
const released = (releases: number): Released => ({
  kind: 'released',
  waitMs: pauseMs({
    ...{ attempt: releases, minMs: RELEASED_MIN_MS, maxMs: RELEASED_MAX_MS },
    ...{ remainingMs: Infinity, random: Math.random() },
  }),
});

/**
 * Records the outcome of an execution whose attempt is over. It asks the database, then the upstream's probe where there is one.
 * How the attempt ended in this process does not matter.
 */
export function createSettle(deps: ActivityDeps): ActivityPorts['settle'] {
  const { store, settings, restores, log } = deps;
  const probe = createOutcomeProbe(deps);

  return async ({ gatedCallId, claimId }) => {
    const call = await store.progress(gatedCallId);
    if (isTerminal(call.state)) return { kind: 'ended' };
    if (call.claimId !== claimId) {
      const releases = await store.releasesOf({ gatedCallId, claimId });
      if (releases > 0) return released(releases);
    }
    if (call.state !== 'claimed') {
      // This step is taken after a claim only: the row has forgotten it.
      await restores.report(gatedCallId);
      return LATER;
    }
    if (call.invocation === undefined && call.isFrozen) return LATER;
    if (call.invocation === undefined && !call.isPermitInDoubt) {
      // The attempt is over, and it got no permit. From now on this claim gets none, so nothing was sent and nothing will be.
      const releases = await store.releaseClaim({ gatedCallId, claimId: call.claimId ?? claimId });
      return releases > 0 ? released(releases) : LATER;
    }
    if (call.isPermitInDoubt) {
      log.error(
        { gatedCall: gatedCallId },
        'a failover may have lost the permit of a claimed call: it is not sent again, and its outcome is unknown',
      );
    }
    if (call.invocation !== undefined) {
      const { invocationId, upstreamKey } = call.invocation;
      const result = await probe(call, upstreamKey);
      if (result !== undefined) {
        await storeResult(deps, { gatedCallId, invocationId, cause: 'probe' }, result);
        return { kind: 'ended' };
      }
    }
    if (call.remainingMs <= 0) {
      return isTerminal(await store.expire(gatedCallId)) ? { kind: 'ended' } : LATER;
    }
    const hasProbe = settings.outcomeProbes[call.tool] !== undefined;
    return { kind: 'retry', waitMs: Math.min(Math.ceil(call.remainingMs) + 1, hasProbe ? PROBE_PAUSE_MS : Infinity) };
  };
}

const annotations = z.object({ annotations: z.object({ readOnlyHint: z.literal(true) }) });

/** The `structuredContent` of a probe tool's answer. Any other answer counts as none. */
const answer = z.looseObject({
  outcome: z.enum(['done', 'never']),
  /** The `CallToolResult` of the execution that was done. */
  result: z
    .looseObject({ content: z.array(z.looseObject({ type: z.string() })), isError: z.boolean().optional() })
    .optional(),
});

const DONE = { content: [{ type: 'text', text: 'The tool ran. Its own answer was lost.' }] };

/**
 * Asks the upstream for the outcome of an execution whose answer was lost: by a read-only tool of the same upstream that the
 * configuration names, with the idempotency key of the one invocation. It is never a second call of the tool. `never` has to mean
 * that the upstream has not run it and will not, should the call still arrive. Undefined: nothing certain is known. A tool that
 * does not declare that it only reads is never asked, since it would run again and again.
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

/** The public name of another tool of the call's upstream: both have the same prefix. */
const publicNameBeside = ({ tool, upstreamTool }: Pick<CallProgress, 'tool' | 'upstreamTool'>, another: string) =>
  `${tool.slice(0, tool.length - upstreamTool.length)}${another}`;

function read(result: JsonObject): InvocationResult | undefined {
  const said = answer.safeParse(result['structuredContent']);
  if (!said.success) return undefined;
  if (said.data.outcome === 'never') return { kind: 'not_sent', cause: 'the upstream says that it has not run' };
  const ran = (said.data.result ?? DONE) as unknown as JsonObject;
  return { kind: 'result', isError: ran['isError'] === true, result: ran };
}
