import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { preloading } from '../support/preload.ts';
import type { Stack } from '../support/stack.ts';

/** Requests that a service got. */
export interface Load {
  readonly mostInASecond: number;
  readonly altogether: number;
}

/** What the policy decision point and the access request service had to bear when everything came back at once. */
export interface Herd {
  readonly evaluations: Load;
  readonly accessRequests: Load;
  /** Those of them that were about calls which go on waiting. */
  readonly looks: Load;
}

/**
 * The worker polls fifty calls in a round (`POLLS` of `jobs/poll-resolutions.ts`), each with one request, and the
 * next round begins a second after the end of it. Two, for what timers and a busy machine make of a second.
 */
const LOOKS_IN_A_SECOND = 2 * 50;
/**
 * Only a call that was approved takes steps, each of which asks both services once: so calls that only wait cost policy
 * nothing, however many they are. A workflow takes a first step and answers five signals at once (`SIGNALS_AT_ONCE`), then it
 * pauses; a healthy one needs a single step. How many signals are sent (`OUTBOX_CONCURRENCY`) and how many steps are taken (a
 * hundred in a worker) at the same time bounds no rate, because each may be short; it is why no more than a hundred are
 * approved, so that all of them may fall into one second.
 */
const STEPS_OF_AN_APPROVED_CALL = 6;
/** The call that is made at the end: asked about once, and submitted once. */
const NEW_CALLS = 1;

const fileOf = (stack: Stack) => join(stack.folder, 'requests.jsonl');

/** Variables with which a part of the stack notes the requests that it gets. */
export const notingRequests = (stack: Stack): Record<string, string> => ({
  ...preloading('note-requests.mjs'),
  COUNTERSIGN_TEST_REQUESTS: fileOf(stack),
});

/**
 * What was noted so far. Decisions of approvers are no part of it: they came from outside.
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

/** The most of these instants that lie within a second, wherever it begins. */
function mostInASecond(instants: readonly number[]): number {
  let [most, first] = [0, 0];
  instants.forEach((at, index) => {
    while (at - (instants[first] ?? at) >= 1_000) first += 1;
    most = Math.max(most, index - first + 1);
  });
  return most;
}

/** What more was asked of the services than the product's limits let happen, in words. */
export function stampedes({ evaluations, accessRequests, looks }: Herd, approved: number): string[] {
  const steps = approved * STEPS_OF_AN_APPROVED_CALL + NEW_CALLS;
  const beyond = (what: string, count: number, limit: number) =>
    count > limit ? [`${what}: ${count}, and ${limit} are the most there may be`] : [];
  return [
    // Whoever must not ask at all must not ask slowly either.
    ...beyond('evaluations', evaluations.altogether, steps),
    ...beyond('looks in one second', looks.mostInASecond, LOOKS_IN_A_SECOND + NEW_CALLS),
    ...beyond('access requests in one second', accessRequests.mostInASecond, LOOKS_IN_A_SECOND + steps),
  ];
}
