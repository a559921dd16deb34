import type { Decision } from '../../workflows/domain/authzen/evaluation.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { PolicyDecisionPoint } from '../../workflows/domain/ports.ts';
import type { InvocationResult, Upstreams } from '../../workflows/domain/upstream-ports.ts';
import type { Arrival } from '../invariants/invariant.ts';
import { arrivalOf } from '../support/arrivals.ts';
import { TOOL } from '../support/steps.ts';
import type { Authority } from './authority.ts';
import type { Chance } from './chance.ts';
import type { Fiber } from './scheduler.ts';

/** How well-behaved the world is: the probability of each deviation from the plain way. */
export interface Temper {
  /** A port call fails, or its caller dies. */
  readonly fault: number;
  /** The policy answers something other than "allow". */
  readonly otherDecision: number;
  /** A tool fails, cannot be reached, or answers late or never. */
  readonly otherInvocation: number;
}

/** The policy decision point, the access request service and the tools, with their observations. */
export interface Outside {
  readonly arrivals: Arrival[];
  /** Events that must not have happened, seen from outside. */
  readonly findings: string[];
  readonly authority: Authority;
  /** Everything works from now on. */
  calmDown(): void;
  pdp(fiber: Fiber): Pick<PolicyDecisionPoint, 'evaluate'>;
  upstreams(fiber: Fiber): Upstreams;
}

/** `makeAuthority` gets the list of findings. */
export function createOutside(
  chance: Chance,
  temper: Temper,
  makeAuthority: (findings: string[]) => Authority,
): Outside {
  const arrivals: Arrival[] = [];
  const findings: string[] = [];
  const authority = makeAuthority(findings);
  const grants = () => authority.count().granted;
  let isCalm = false;

  return {
    arrivals,
    findings,
    authority,
    calmDown() {
      isCalm = true;
    },
    pdp: (fiber) => ({
      evaluate: () =>
        fiber.step(
          'ask the policy',
          async () => decisionOf(chance, isCalm ? 0 : temper.otherDecision),
          'ERR_PDP_UNAVAILABLE',
        ),
    }),
    upstreams: (fiber) => ({
      tools: async () => [TOOL],
      find: () => fiber.step('look at the tool', async () => TOOL, 'ERR_UPSTREAM_UNAVAILABLE'),
      call: (call) =>
        invoke(fiber, { call, arrivals, chance, findings, grants, oddity: isCalm ? 0 : temper.otherInvocation }),
    }),
  };
}

function decisionOf(chance: Chance, oddity: number): Decision {
  if (!chance.happens(oddity)) return { kind: 'allow' };
  return chance.weighted<Decision>([
    [
      3,
      {
        kind: 'requestable',
        offer: { endpoint: 'https://ars.test/requests', expiresAt: new Date(Date.now() + 600_000).toISOString() },
      },
    ],
    [2, { kind: 'retry' }],
    [2, { kind: 'deny' }],
  ]);
}

interface Invocation {
  readonly call: Parameters<Upstreams['call']>[0];
  readonly arrivals: Arrival[];
  readonly chance: Chance;
  readonly oddity: number;
  readonly findings: string[];
  /** Requests that were granted so far. */
  readonly grants: () => number;
}

/** The call is sent, and answered later: in between, anything may happen to the waiting caller. */
async function invoke(
  fiber: Fiber,
  { call, arrivals, chance, oddity, grants, findings }: Invocation,
): Promise<InvocationResult> {
  const fate = chance.happens(oddity)
    ? chance.oneOf(['tool error', 'protocol error', 'not sent', 'lost on the way', 'answer lost'] as const)
    : 'answered';
  const arrive = async () => {
    if (fate === 'not sent' || fate === 'lost on the way') return;
    // Each approval is for one call.
    if (arrivals.length >= grants()) findings.push('a tool ran without an approval of that call');
    arrivals.push(arrivalOf(call));
  };
  try {
    await fiber.step('send to the tool', arrive, 'ERR_UPSTREAM_UNAVAILABLE');
    await fiber.step(`hear from the tool: ${fate}`, async () => undefined, 'ERR_UPSTREAM_UNAVAILABLE');
  } catch (error) {
    // The port reports this failure in its answer, and never throws it.
    if (error instanceof CountersignError) return { kind: 'no_answer', cause: 'reset' };
    throw error;
  }
  switch (fate) {
    case 'answered':
      return { kind: 'result', isError: false, result: { content: [] } };
    case 'tool error':
      return { kind: 'result', isError: true, result: { content: [] } };
    case 'protocol error':
      return { kind: 'error', code: -32603, message: 'it broke' };
    case 'not sent':
      return { kind: 'not_sent', cause: 'refused' };
    case 'lost on the way':
    case 'answer lost':
      return { kind: 'no_answer', cause: 'reset' };
  }
}
