import fc from 'fast-check';
import { createAgent, exchange, faultOf, kindOf } from './exchange.ts';
import type { Known } from './messages.ts';
import { namesForeignSession, plans, requestOf, type Plan } from './requests.ts';

/** Requests under way at once. */
const AT_ONCE = 16;

/** A gateway under fuzzing. */
export interface FuzzTarget {
  readonly mcpUrl: string;
  readonly known: Known;
  /** Whether its process is running. */
  isRunning(): boolean;
  /** Starts it again. */
  revive(): Promise<void>;
}

export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  /** Where in the seed's sequence to begin: this repeats a failure at once. */
  readonly path?: string | undefined;
  readonly onProgress?: (sent: number) => void;
}

export interface FuzzFigures {
  readonly seed: number;
  readonly sent: number;
  /** How often each kind of answer came. */
  readonly answers: Readonly<Record<string, number>>;
  /** The smallest requests that show the first fault, how to repeat it, and the fault itself. */
  readonly fault?: { readonly path: string; readonly what: string };
}

/** Sends random requests until there are enough, or until one gets a forbidden answer; then looks for a smaller one. */
export async function runFuzz(target: FuzzTarget, options: FuzzOptions): Promise<FuzzFigures> {
  const { requests, seed, path, onProgress } = options;
  const answers = new Map<string, number>();
  const agent = createAgent(AT_ONCE);
  let sent = 0;

  const faultsOf = async (plan: Plan): Promise<string[]> => {
    const request = requestOf(plan, target.mcpUrl, target.known);
    try {
      const answer = await exchange(request, plan.leaves, { mcpUrl: target.mcpUrl, agent });
      const kind = kindOf(answer);
      answers.set(kind, (answers.get(kind) ?? 0) + 1);
      const isAuthorized = target.known.good.includes(plan.authorization);
      const isForeign = namesForeignSession(plan, request, target.known);
      const fault = answer && faultOf(answer, { isAuthorized, isForeign });
      return fault === undefined
        ? []
        : [`${fault}: ${answer?.status} ${answer?.text.slice(0, 500)}\n${describe(plan)}`];
    } catch (error) {
      return [`no answer: ${String(error)}\n${describe(plan)}`];
    }
  };
  const property = fc.asyncProperty(
    fc.array(plans(target.known), { minLength: AT_ONCE, maxLength: AT_ONCE }),
    async (batch) => {
      if (!target.isRunning()) await target.revive();
      const faults = (await Promise.all(batch.map(faultsOf))).flat();
      if (!target.isRunning()) faults.push('the gateway has ended');
      sent += batch.length;
      onProgress?.(sent);
      if (faults.length > 0) throw new Error(faults.join('\n'));
    },
  );
  try {
    const found = await fc.check(property, {
      seed,
      ...(path !== undefined && { path }),
      numRuns: Math.ceil(requests / AT_ONCE),
    });
    const what = found.errorInstance instanceof Error ? found.errorInstance.message : found.error;
    return {
      ...{ seed, sent, answers: Object.fromEntries(answers) },
      ...(found.failed && { fault: { path: found.counterexamplePath ?? '', what: what ?? 'unknown' } }),
    };
  } finally {
    agent.destroy();
  }
}

/** Tokens are valid for an hour, and do not matter to the fault. */
const describe = (plan: Plan) =>
  JSON.stringify({ ...plan, authorization: plan.authorization.slice(0, 12) }).slice(0, 2_000);
