import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { preloading } from '../support/preload.ts';
import type { Stack } from '../support/stack.ts';

/** Requests that a service got. */
export interface Load {
  readonly mostInASecond: number;
  readonly altogether: number;
}

/** The load on the policy decision point and the access request service after everything came back at once. */
export interface Herd {
  readonly evaluations: Load;
  readonly accessRequests: Load;
  /** The requests about calls that go on waiting. */
  readonly looks: Load;
}

/**
 * The worker polls fifty calls in a round (`POLLS` of `jobs/poll-resolutions.ts`), each with one request, and the next
 * round begins a second after the end of it. Two, because timers and a busy machine stretch a second.
 */
const LOOKS_IN_A_SECOND = 2 * 50;
/**
 * Only an approved call takes steps, and each step asks both services once. Calls that only wait cost policy nothing,
 * in any number. A workflow takes a first step and answers five signals at once (`SIGNALS_AT_ONCE`), then it pauses; a
 * healthy one needs a single step. The limits on concurrent signals (`OUTBOX_CONCURRENCY`) and on concurrent steps (a
 * hundred in a worker) bound no rate, because each may be short. Therefore at most a hundred calls are approved, so
 * that all of their requests may fall into one second.
 */
const STEPS_OF_AN_APPROVED_CALL = 6;
/** The call that is made at the end: evaluated once, and submitted once. */
const NEW_CALLS = 1;

const fileOf = (stack: Stack) => join(stack.folder, 'requests.jsonl');

/** Environment variables that make a part of the stack note the requests that it gets. */
export const notingRequests = (stack: Stack): Record<string, string> => ({
  ...preloading('note-requests.mjs'),
  COUNTERSIGN_TEST_REQUESTS: fileOf(stack),
});

/**
 * The requests noted so far. Decisions of approvers do not count: they came from outside.
 *
 * @param approved Ids of the access requests that were approved meanwhile.
 */
export function herdOf(stack: Stack, approved: readonly string[]): Herd {
  const lines = readFileSync(fileOf(stack), 'utf8').trim().split('\n');
  const noted = lines.map((line) => JSON.parse(line) as { at: number; port: number; path: string });
  const to = (address: string) => {
    const { port, pathname } = new URL(address);
    return noted.filter((request) => request.port === Number(port) && request.path.startsWith(pathname));
  };
  const { pdp, accessRequests } = stack.config.urls;
  const requests = to(accessRequests);
  const steps = new Set(approved.map((id) => `${new URL(accessRequests).pathname}/${id}`));
  return {
    evaluations: loadOf(to(`${pdp}/access/v1/evaluation`)),
    accessRequests: loadOf(requests),
    looks: loadOf(requests.filter(({ path }) => !steps.has(path))),
  };
}

const loadOf = (requests: readonly { at: number }[]): Load => ({
  mostInASecond: mostInASecond(requests.map(({ at }) => at)),
  altogether: requests.length,
});

/** The largest number of these instants within one second, wherever it begins. */
function mostInASecond(instants: readonly number[]): number {
  let [most, first] = [0, 0];
  instants.forEach((at, index) => {
    while (at - (instants[first] ?? at) >= 1_000) first += 1;
    most = Math.max(most, index - first + 1);
  });
  return most;
}

/** The requests to the services beyond the product's limits, in words. */
export function stampedes({ evaluations, accessRequests, looks }: Herd, approved: number): string[] {
  const steps = approved * STEPS_OF_AN_APPROVED_CALL + NEW_CALLS;
  const beyond = (what: string, count: number, limit: number) =>
    count > limit ? [`${what}: ${count}, but at most ${limit} are allowed`] : [];
  return [
    // The total is checked too: a call that must send no request must not send it slowly either.
    ...beyond('evaluations', evaluations.altogether, steps),
    ...beyond('looks in one second', looks.mostInASecond, LOOKS_IN_A_SECOND + NEW_CALLS),
    ...beyond('access requests in one second', accessRequests.mostInASecond, LOOKS_IN_A_SECOND + steps),
  ];
}
