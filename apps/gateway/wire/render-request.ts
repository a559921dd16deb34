import type { CallToolResult, Result } from '@modelcontextprotocol/server';
import { isTerminal } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCallView, RecentRequest } from '../../../workflows/domain/ports.ts';
import type { PageRound } from '../calls/tool-call.ts';
import { withJson } from './earlier-result.ts';
import { authorizationMeta, textResult, toolError, type Rendering } from './rendering.ts';
import { NEXT_STEP_META, OWN_TOOLS, REQUEST_MEMBER } from './identifiers.ts';
import { pageQuestion } from './page-question.ts';
import { LATER, REQUEST_POLL_MS } from './own-tools.ts';
import { renderEnded, statementOf, statusMessageOf, statusOf } from './render-task.ts';

/** A gated call for a client without tasks, and how long `get_request_status` waits for its end, in seconds. */
interface Shown {
  readonly view: GatedCallView;
  readonly nextSeconds?: number | undefined;
  /** The client joined a call that it made before. */
  readonly isJoined?: true | undefined;
  /** The client asked for the status. */
  readonly isAsked?: true | undefined;
}

/** The final result of the call once it has ended, otherwise its status and the next step. */
export function renderRequest(shown: Shown, rendering: Rendering): CallToolResult {
  const { view } = shown;
  if (isTerminal(view.state)) return renderEnded(view, rendering);
  const { text, meta } = nextStep(shown, rendering);
  return { ...textResult(`${situationOf(view)} ${text}`), _meta: { [NEXT_STEP_META]: meta } };
}

/** Where a call without a decision is. It says in each state whether the tool has run. */
function situationOf({ state, approvalPage }: Pick<GatedCallView, 'state' | 'approvalPage'>): string {
  if (state === 'granted') return 'The tool has not run: an approval has arrived and is being checked.';
  if (state === 'claimed') return statusMessageOf(state);
  if (state === 'input_required') return 'The tool has not run: its request needs more information before a decision.';
  const page = approvalPage === undefined ? '' : `, on the page ${approvalPage}`;
  return `The tool has not run: a person has to approve this call first${page}.`;
}

/** What the card of a held call says of it. The card shows the page beside it. */
export const statementForCard = ({ state, ...view }: GatedCallView): string =>
  isTerminal(state) ? statementOf({ state, ...view }) : situationOf({ state });

/**
 * The answer to a call that is held, for a client that opens addresses. When the client comes back with the state, it waits for the end.
 * @see SEP-2322, input required; SEP-2643, Where it attaches
 */
export const renderPageRound = ({ key, page, requestState }: PageRound, rendering: Rendering): Result => ({
  resultType: 'input_required',
  inputRequests: { [key]: pageQuestion(page) },
  requestState,
  _meta: authorizationMeta('page', rendering),
});

/**
 * The outcome of an earlier identical call. Without the added text, its caller could take it for the result of a second run. A host that
 * shows its model a structured result shows that alone, so it is left out, and stands as JSON in a text. Clients accept that for an error.
 */
export function renderEarlier(view: GatedCallView, rendering: Rendering): CallToolResult {
  const { structuredContent, ...ended } = renderEnded(view, rendering);
  const mark = { type: 'text', text: earlierOf(view) } as const;
  if (structuredContent === undefined) return { ...ended, content: [...ended.content, mark] };
  return { ...ended, isError: true, content: [...withJson(ended.content, structuredContent), mark] };
}

const earlierOf = ({ createdAt }: GatedCallView) =>
  `This is the outcome of an identical call, made at ${createdAt}, which may not have reached you. The tool did not run again. Next ` +
  'step: repeat the call only if the tool should run once more; that needs a new approval.';

/**
 * The answer of one of the gateway's own tools. Some hosts show a model only the structured result, so what is said of the request stands
 * there too. The answer to the call itself does not get this member, because the output schema of its tool does not have it.
 */
export function withRequest(answer: CallToolResult, { view }: Pick<Shown, 'view'>): CallToolResult {
  const { structuredContent: structured } = answer;
  if (!isTerminal(view.state)) return { ...answer, structuredContent: { [REQUEST_MEMBER]: openRequest(answer, view) } };
  // Without a structured result, a host shows the text.
  if (typeof structured !== 'object' || structured === null || Array.isArray(structured)) return answer;
  const statusMessage = statementOf(view);
  const { approverMessages } = view;
  const request = { reference: view.requestRef, status: statusOf(view.state), statusMessage, approverMessages };
  return { ...answer, structuredContent: { ...structured, [REQUEST_MEMBER]: request } };
}

/** The whole text is repeated: it has the next step. */
function openRequest(
  { content }: CallToolResult,
  { state, requestRef, retainUntil, decideBy, approvalPage }: GatedCallView,
) {
  return {
    ...{ reference: requestRef, status: statusOf(state) },
    statusMessage: content.map((block) => (block.type === 'text' ? block.text : '')).join(' '),
    ...{ expiresAt: retainUntil, decideBy, approvalPage },
  };
}

export function renderRecent(requests: readonly RecentRequest[]): CallToolResult {
  const listed = requests.map(({ requestRef: reference, tool, state, createdAt, ageSeconds }) => ({
    ...{ reference, tool, createdAt, ageSeconds },
    ...{ status: statusOf(state), statusMessage: statusMessageOf(state) },
  }));
  const lines = listed.map(
    ({ reference, tool, ageSeconds, statusMessage }) => `${reference}  ${tool}, ${ageSeconds} s ago: ${statusMessage}`,
  );
  const text =
    lines.length === 0
      ? 'You have no requests on record.'
      : `Your newest requests, newest first. Next step: call ${OWN_TOOLS.requestStatus} with a reference to read its outcome.`;
  return { ...textResult([text, ...lines].join('\n')), structuredContent: { requests: listed } };
}

/** A call that did not end while a client without tasks waited for it. */
export function renderStillHeld(shown: Shown & { readonly isError?: boolean }, rendering: Rendering): CallToolResult {
  const { content, _meta } = renderRequest(shown, rendering);
  if (shown.isError === false) return { content, _meta };
  // The tool of a claimed call may be running, so that is not a denial (DENIAL-014).
  const denial = shown.view.state === 'claimed' ? {} : authorizationMeta('requestable', rendering);
  return { isError: true, content, _meta: { ..._meta, ...denial } };
}

/**
 * What a model does next. Models do what they read: without an end they poll until their budget is spent, and tell no person. So the first
 * answer has the model tell its user, and ask once; the second has it end its turn.
 */
function nextStep(shown: Shown, { requestTools }: Rendering) {
  const { view, nextSeconds = 0 } = shown;
  const { state, requestRef: reference, retainUntil: expiresAt, approvalPage } = view;
  const page = approvalPage !== undefined && { approvalPage };
  if (state === 'input_required') return { text: ANSWER_THE_TASK, meta: { kind: 'answer_task', reference, expiresAt } };
  const waits = nextSeconds > 0;
  const pace = waits ? { waitSeconds: nextSeconds } : { pollIntervalMs: REQUEST_POLL_MS };
  const shared = { expiresAt, ...page, ...pace };
  if (!requestTools) {
    const pause = waits ? '' : `, ${LATER}`;
    const ask = (often: string) => `repeat the same call${often}${pause}; it joins this request and opens no new one`;
    const text = shown.isJoined ? endTurn(view, ask('')) : tellUser(view, ask(' once'));
    return { text, meta: { kind: 'repeat_call', reference, ...shared } };
  }
  const tool = OWN_TOOLS.requestStatus;
  const pause = waits ? `which waits up to ${nextSeconds} s for the result` : LATER;
  const ask = (often: string) => `call ${tool} with the reference ${reference}${often}, ${pause}`;
  const text = shown.isAsked ? endTurn(view, ask('')) : tellUser(view, ask(' once'));
  return { text, meta: { kind: tool, tool, arguments: { reference }, ...shared } };
}

const isUndecided = ({ state }: Pick<GatedCallView, 'state'>) => state === 'pending' || state === 'preparing';

/** The next step after the first answer. */
function tellUser(view: GatedCallView, ask: string): string {
  const page = view.approvalPage === undefined ? '' : ', and give them the page';
  const what = isUndecided(view) ? `so${page}` : 'that this call has no result yet';
  return `Next step: tell your user ${what}. Then ${ask}. If the request is still open then, end your turn and say so.`;
}

/** The next step after each further answer. */
function endTurn(view: GatedCallView, ask: string): string {
  const page = view.approvalPage === undefined ? '' : ' on that page';
  const what = isUndecided(view) ? `this call still waits for an approval${page}` : 'this call has no result yet';
  return `Next step: end your turn, and tell your user that ${what}. Once they ask for the result, ${ask}.`;
}

/** Only a task shows forms, and a client of the plain tools has no task. */
const ANSWER_THE_TASK =
  'You cannot give the information here. Next step: end your turn, and tell your user that the client which holds the task of this ' +
  'call reads the questions with tasks/get and answers them with tasks/update. A client that declares tasks and elicitation (form) ' +
  'gets that task by repeating the same call.';

/** For arguments of the gateway's own tools. It does not say whether the call that is asked about has run. */
export const renderInvalidArguments = (problem: string) => toolError(`The arguments are not valid: ${problem}.`);

/** The refusal of a call with empty arguments: some clients cannot send members that no schema names. */
export function withEmptyArguments(refused: CallToolResult): CallToolResult {
  const text =
    'The member arguments is empty. Next step: put the arguments of the call in it. If your client drops them, send the member ' +
    'arguments as the JSON text of the object.';
  return { ...refused, content: [...refused.content, { type: 'text', text }] };
}

/** The same answer for another caller's reference, for a reference whose call is no longer kept, and for an unknown reference. */
export const renderUnknownRequest = () => toolError('There is no such request, or it is no longer kept.');
