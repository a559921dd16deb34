import { randomUUID } from 'node:crypto';
import pino from 'pino';
import type { GatedCallRef } from '../../workflows/activity-ports.ts';
import type { ActivityDeps } from '../../activities/step.ts';
import { createActivities } from '../../activities/index.ts';
import { createEnsureSubmitted } from '../../activities/submit-access-request.ts';
import { ALL_ACCEPTED } from './all-accepted.ts';
import { ALL_MET } from './all-met.ts';
import { NEVER_RESTORED } from './never-restored.ts';
import { NO_FORMS } from './no-forms.ts';
import type { RecordedStatement } from '../../workflows/domain/access-request/statement.ts';
import type { Approval, Decision, EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { AccessRequestHandle, TakenSubmission } from '../../workflows/domain/gated-call/submission.ts';
import type { AccessRequestService, ResolutionStatus } from '../../workflows/domain/ports.ts';
import type { InvocationResult, UpstreamTool } from '../../workflows/domain/upstream-ports.ts';
import { toolFacts } from '../../workflows/domain/tools/tool-facts.ts';
import { systemTime } from './time.ts';
import { toTheClaim } from './to-the-claim.ts';
import { repeatWhile } from './wait-for.ts';

/** The tool of the openings of `gated-calls.ts`, as the upstream describes it. */
export const TOOL: UpstreamTool = {
  kind: 'tool',
  upstream: 'files',
  upstreamName: 'write_file',
  name: 'files__write_file',
  definition: {},
  digest: 'sha-256:tool',
  facts: toolFacts({}),
};

const PROBE = 'was_written';

/** The id of the call's claim, or one that no claim has. */
async function claimIdOf(store: Pick<ActivityDeps['store'], 'progress'>, gatedCallId: string): Promise<string> {
  const found = await store.progress(gatedCallId).catch(() => undefined);
  return found?.claimId ?? randomUUID();
}

/** How often a decision may be too old before that is the result. */

/** The answers of the world around the steps. Default: a pending request, an allow, an unchanged tool that succeeds. */
export interface World {
  /** The test makes a decision too old to be used, so it is not made again. */
  readonly isDecidedOnce?: true;
  status?: ResolutionStatus | Error;
  /** The access request service's statement on who resolved the request. Absent: none. */
  statement?: RecordedStatement;
  decision?: Decision | Error;
  /** Instead, where the answer depends on the question. */
  decide?: (request: EvaluationRequest, approval?: Approval) => Decision;
  /** The policy decision point itself, instead of its decision. */
  pdp?: ActivityDeps['pdp'];
  /** The decision is given when this promise resolves. */
  decided?: Promise<void>;
  /** The tool is seen when this promise resolves. */
  seen?: Promise<void>;
  /** The access request service itself, instead of its status and handle. */
  accessRequests?: AccessRequestService;
  handle?: AccessRequestHandle | Error;
  tool?: UpstreamTool | Error;
  /** Absent: the tool is as it was accepted. */
  acceptedTools?: ActivityDeps['acceptedTools'];
  /** Absent: the tool requires nothing. */
  requirements?: ActivityDeps['requirements'];
  invocation?: InvocationResult;
  /** Absent: more than a test has calls. */
  claimsAtOnce?: number;
  /** The tool's time from its permit on, in milliseconds. */
  executionTimeoutMs?: number;
  /** Absent: there are none. */
  requestForms?: ActivityDeps['requestForms'];
  /** Whether they agree. Absent: they do. */
  clocksAgree?: boolean;
  /** Absent: the database has forgotten nothing. */
  restores?: ActivityDeps['restores'];
  /** Steps of the store that deviate. */
  store?: Partial<ActivityDeps['store']>;
  /** The answer of the probe tool. Absent: there is no probe. */
  probe?: InvocationResult | Error;
  /** The upstream's declaration of the probe tool. Absent: it is read-only. */
  probeTool?: Pick<UpstreamTool, 'definition'> | undefined;
  /** The log of the steps. */
  lines?: Record<string, unknown>[];
}

/**
 * The product's steps over a real store and this world, and the requests that they sent into it. At most two
 * generations.
 */
export function stepsIn(world: World, store: ActivityDeps['store']) {
  const sent: unknown[] = [];
  const sendBys: number[] = [];
  const probed: unknown[] = [];
  const submitted: Omit<TakenSubmission, 'generation'>[] = [];
  const answer = <T>(value: T | Error): T => {
    if (value instanceof Error) throw value;
    return value;
  };
  const accessRequests: AccessRequestService = world.accessRequests ?? {
    async submit(submission) {
      submitted.push(submission);
      return answer(world.handle ?? new Error('not expected'));
    },
    read: async () => answer(world.status ?? { kind: 'pending' }),
    stated: async () => world.statement,
    cancel: () => Promise.reject(new Error('not expected')),
  };
  const worldly = { ...store, ...world.store };
  /** Calls whose last claim was refused because the decision was too old. */
  const stale = new Set<string>();
  const deps: ActivityDeps = {
    ...systemTime,
    store: {
      ...worldly,
      async claim(claim) {
        const outcome = await worldly.claim(claim);
        if (outcome === 'stale') stale.add(claim.gatedCallId);
        return outcome;
      },
    },
    pdp: world.pdp ?? {
      async evaluate(request, approval) {
        await world.decided;
        if (world.decide !== undefined) return world.decide(request, approval);
        return answer(world.decision ?? { kind: 'allow' });
      },
    },
    accessRequests,
    ensureSubmitted: createEnsureSubmitted({ ...systemTime, store, accessRequests }),
    upstreams: {
      tools: async () => [],
      async find(name) {
        if (name !== `${TOOL.upstream}__${PROBE}`) {
          await world.seen;
          return answer(world.tool ?? TOOL);
        }
        const said = 'probeTool' in world ? world.probeTool : { definition: { annotations: { readOnlyHint: true } } };
        return said && { ...TOOL, ...said };
      },
      call: async (call, { sendBy = Infinity }) => {
        if (call.upstreamTool === PROBE) {
          probed.push(call);
          return answer(world.probe ?? new Error('not expected'));
        }
        sendBys.push(sendBy);
        if (performance.now() >= sendBy) return { kind: 'not_sent', cause: 'too late' };
        sent.push(call);
        return world.invocation ?? { kind: 'result', isError: false, result: { content: [] } };
      },
    },
    acceptedTools: world.acceptedTools ?? ALL_ACCEPTED,
    requirements: world.requirements ?? ALL_MET,
    requestForms: world.requestForms ?? NO_FORMS,
    clocksAgree: () => world.clocksAgree ?? true,
    restores: world.restores ?? NEVER_RESTORED,
    log: pino({}, { write: (line: string) => void world.lines?.push(JSON.parse(line) as Record<string, unknown>) }),
    settings: {
      executionTimeoutMs: world.executionTimeoutMs ?? 600_000,
      callbackUrl: 'http://127.0.0.1:1/callbacks',
      maxGenerations: 2,
      claimsAtOnce: world.claimsAtOnce ?? 1_000,
      outcomeProbes: world.probe === undefined ? {} : { [TOOL.name]: PROBE },
    },
  };
  const activities = createActivities(deps);
  return {
    ...activities,
    /** As the workflow does, settles the claim that the call has. */
    settle: async ({ gatedCallId, claimId }: GatedCallRef & { readonly claimId?: string }) =>
      activities.settle({ gatedCallId, claimId: claimId ?? (await claimIdOf(store, gatedCallId)) }),
    /** As the workflow does, decides again when the decision is older than five seconds at the claim. */
    toTheClaim: (call: GatedCallRef) =>
      repeatWhile(
        () => stale.delete(call.gatedCallId) && world.isDecidedOnce !== true,
        () => toTheClaim(activities, call),
      ),
    sent,
    sendBys,
    probed,
    submitted,
  };
}
