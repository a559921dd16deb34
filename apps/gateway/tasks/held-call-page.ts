import type { RequestHandler } from 'express';
import type { CallAtPage, GatedCalls } from '../../../workflows/domain/ports.ts';
import { isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { createRateLimit } from '../../shared/http/address-limit.ts';
import { lonePage } from '../../shared/pages/lone-page.tsx';

/** Another text is none that the gateway made, and costs no look into the database. */
const REFERENCE = /^req_[0-9a-f]{32}$/;

/** Looks into the database. No sign-in is needed, so without a limit anyone could cause any number. */
const AT_MOST = { count: 100, seconds: 1 };
/** For `Retry-After` while the database is away, or too many ask. */
const RETRY_AFTER_SECONDS = 5;

/**
 * The page of a held call, for a person whose client has a task: a task shows no address and no id of the access request service. It needs no
 * sign-in, so it says only where the call is, and leads on to the page of that service, where a person signs in, sees the call and decides.
 * An unknown call and one that is no longer kept get one answer. GET changes nothing, and the page decides nothing. @see APPR-215
 */
export function serveHeldCallPage({ gatedCalls }: { gatedCalls: Pick<GatedCalls, 'atPage'> }): RequestHandler {
  const rate = createRateLimit(AT_MOST);
  return async (request, response) => {
    const reference = String(request.params['reference']);
    const isTooMuch = async () => (await rate.take('all')) !== undefined;
    const find = async () => ((await isTooMuch()) ? 'away' : findPatiently(gatedCalls, reference));
    const found = REFERENCE.test(reference) ? await find() : undefined;
    const { status, title, words, link } = found === 'away' ? AWAY : shownOf(found);
    const page = lonePage(title, words, link);
    if (status === 503) response.set('Retry-After', String(RETRY_AFTER_SECONDS));
    response
      .status(status)
      .set({ 'Content-Security-Policy': page.policy, 'Referrer-Policy': 'no-referrer', 'Cache-Control': 'no-store' })
      .type('html')
      .send(page.html);
  };
}

async function findPatiently(
  gatedCalls: Pick<GatedCalls, 'atPage'>,
  reference: string,
): Promise<CallAtPage | 'away' | undefined> {
  try {
    return await gatedCalls.atPage(reference);
  } catch (error) {
    if (error instanceof CountersignError && error.retryable) return 'away';
    throw error;
  }
}

interface Shown {
  readonly status: number;
  readonly title: string;
  readonly words: string;
  readonly link?: { readonly href: string; readonly label: string };
}

const AWAY: Shown = {
  status: 503,
  title: 'Not available at the moment',
  words: 'Try again in a few seconds.',
};

/** It tells people who have only the address nothing about the call, and not how it ended. */
function shownOf(found: CallAtPage | undefined): Shown {
  if (found === undefined)
    return {
      status: 404,
      title: 'There is no such call',
      words: 'The address may be mistyped, or the call is too old.',
    };
  const { state, approvalPage: href, decideBy } = found;
  const ok = { status: 200 };
  if (isTerminal(state))
    return {
      ...ok,
      title: 'This call has ended',
      words: 'There is nothing left to decide. The agent has the outcome.',
    };
  if (state === 'input_required')
    return { ...ok, title: 'This call needs more information', words: 'Answer the question that the agent shows you.' };
  if (state !== 'pending')
    return { ...ok, title: 'This call goes on', words: 'An approval has arrived. The agent gets the outcome.' };
  const until = decideBy === undefined ? '' : ` It waits until ${decideBy.slice(0, 16).replace('T', ' ')} UTC.`;
  const title = 'A call of an agent waits for an approval';
  if (href === undefined) return { ...ok, title, words: `The tool has not run. Its approvers were told.${until}` };
  const words = `The tool has not run. Open the request to see the call. You sign in there, and approvers decide there.${until}`;
  return { ...ok, title, words, link: { href, label: 'Open the request' } };
}
