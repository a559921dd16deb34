import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { isEnded } from '../../../workflows/domain/access-request/access-request.ts';
import { decideBefore } from '../../../workflows/domain/access-request/deadline.ts';
import { earlierVote } from '../../../workflows/domain/access-request/quorum.ts';
import { requesterPerson, unanswered } from '../../../workflows/domain/access-request/requester-question.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { isWithin } from '../../../workflows/domain/access-request/outline.ts';
import { shownOf, type SummaryPart, summaryOf, type SummaryTemplateOf } from '../inbox/summary.tsx';
import { cutText, shownCall } from './shown-call.ts';
import { writtenJson, writtenName, writtenText } from './written.ts';

/**
 * What a message says. Its texts hold values of agents, which are safe to read but not escaped: each channel escapes them for its format.
 */
export interface Message {
  /** What later messages refer to: the request, or `digest`. */
  readonly requestId: string;
  /**
   * `ask`: the person may decide. `remind`: they have not yet. `question`: approvers ask them about a request of theirs. `digest`: several
   * requests wait for them. `over`: they need not do anything any more.
   */
  readonly kind: 'ask' | 'remind' | 'question' | 'digest' | 'over';
  /** Names what the message says: two messages with one key say the same. */
  readonly key: string;
  /** What was asked for. */
  readonly sentence: string;
  /** What happened, if it is over. */
  readonly outcome?: string;
  /** Names with their values. */
  readonly facts: readonly (readonly [string, string])[];
  /** What the message leaves out of the call, in words. Undefined: nothing, or the message is no question. */
  readonly leftOut?: string;
  /** Address of the page of the request. To open it decides nothing. */
  readonly link: string;
  /** Labels and addresses of the links of a digest. Without them, `link` opens the request. */
  readonly links?: readonly (readonly [string, string])[];
  /** Whether it changes an earlier message without a sound, where the channel can. */
  readonly isSilent?: true;
  /** What the recipient may decide in a chat, if the stage allows it and they have a vote of their own. */
  readonly ballot?: ChatBallot;
}

/** What a decision in a chat is bound to. */
export interface ChatBallot {
  readonly requestId: string;
  readonly callDigest: string;
  readonly generation: number;
  readonly stage: number;
  /** When the request ends, RFC 3339. */
  readonly until: string;
  /** Whether the message shows all of the call, so that an approval may rest on it. Without that, it can be denied only. */
  readonly mayApprove: boolean;
}

/** The links of a message, with their labels. */
export const linksOf = ({ link, links }: Pick<Message, 'link' | 'links'>) =>
  links ?? [['Open the request', link] as const];

/** Characters of a sentence, and of a name. */
const LONGEST = 300;
const legible = (text: string) => cutText(writtenText(text), LONGEST);
const named = (text: string) => cutText(writtenName(text), LONGEST);

/**
 * What a request asks for, in one line: as the list of the inbox says it, but only with the arguments that messages show. If the operator's
 * sentence has another, the policy author's title and the tool take its place.
 */
export function sentenceOf(
  { title, tool, outline }: Pick<AccessRequest, 'title' | 'tool' | 'outline'>,
  { shownArguments, summaries }: Pick<MessageOptions, 'shownArguments' | 'summaries'>,
): string {
  const leaves = outline?.leaves.filter((leaf) => shownArguments.some((name) => isWithin(leaf, name))) ?? [];
  const parts = summaryOf({ tool, ...(outline && { outline: { ...outline, leaves } }) }, summaries(tool));
  const isOperators = !parts.some((part) => 'tool' in part);
  const summary = parts.map(partText).join('');
  return cutText(isOperators || title === undefined ? summary : `${writtenText(title)} (${summary})`, LONGEST);
}

function partText(part: SummaryPart): string {
  if ('words' in part) return part.words;
  if ('tool' in part) return writtenName(part.tool);
  const { shown, isLong } = shownOf(part.leaf);
  return `${part.name === undefined ? '' : ` ${writtenText(part.name)} `}${writtenJson(shown)}${isLong ? '…' : ''}`;
}

export interface MessageOptions {
  readonly people: Pick<Directory, 'find'>;
  /** Names of arguments that the message shows. */
  readonly shownArguments: readonly string[];
  readonly summaries: SummaryTemplateOf;
  /** Public address of the inbox. */
  readonly inboxUrl: string;
  /** The zone in which the recipient reads times. */
  readonly timeZone: string;
}

export interface MessageState {
  readonly person: string;
  /** Whether they may decide it now, for themselves or for another person. */
  readonly isAsked: boolean;
  /** Whether they may decide it for themselves. */
  readonly hasVote: boolean;
  /** Whether questions wait for them, as the requester. */
  readonly mayAnswer: boolean;
  /** How many reminders the open stage has had. */
  readonly reminders: number;
}

/**
 * The message to a recipient about a request as it is now.
 */
export function messageAbout(
  request: AccessRequest,
  { person, isAsked, hasVote, mayAnswer, reminders }: MessageState,
  options: MessageOptions,
): Message {
  const { id, stage, status } = request;
  const common = {
    requestId: id,
    sentence: sentenceOf(request, options),
    link: `${options.inboxUrl}/requests/${encodeURIComponent(id)}`,
  };
  // No message holds the text of a question or of an answer.
  if (mayAnswer) {
    const key = `question ${Math.max(...unanswered(request).map(({ number }) => number))}`;
    return { ...common, kind: 'question', key, ...shownOfCall(request, options) };
  }
  if (isAsked) {
    // More time makes the deadline of a message that was sent wrong.
    const since = isExtended(request) ? ` until ${request.stageEndsAt}` : '';
    const answered = answersIn(request) === 0 ? '' : ` answered ${answersIn(request)}`;
    const what =
      reminders > 0
        ? { kind: 'remind', key: `remind ${stage} ${reminders}${since}${answered}` }
        : { kind: 'ask', key: `ask ${stage}${since}${answered}` };
    const { callDigest, generation, expiresAt: until } = request;
    const { isWhole: mayApprove } = shownCall(request, options.shownArguments);
    const ballot = { requestId: id, callDigest, generation, stage, until, mayApprove };
    const mayVote = hasVote && openStage(request).chatDecisions === true;
    const shown = shownOfCall(request, options);
    return { ...common, ...(what as Pick<Message, 'kind' | 'key'>), ...shown, ...(mayVote && { ballot }) };
  }
  const own = earlierVote(request, { subject: person }, stage);
  const answers = requesterPerson(request)?.subject === person ? answersIn(request) : 0;
  if (!isEnded(status) && answers > 0)
    return { ...common, kind: 'over', key: `over answered ${answers}`, outcome: ANSWERED, facts: [] };
  const key = isEnded(status) ? `over ${status}` : own === undefined ? `over stage ${stage}` : `over vote ${stage}`;
  return { ...common, kind: 'over', key, outcome: outcomeOf(request, own !== undefined, options), facts: [] };
}

const answersIn = ({ questions = [] }: AccessRequest) => questions.filter(({ answer }) => answer !== undefined).length;

const isExtended = ({ extensions = [], stage }: AccessRequest) => extensions.some((one) => one.stage === stage);

function factsOf(request: AccessRequest, { timeZone }: MessageOptions): (readonly [string, string])[] {
  const { requester, stages, questions = [] } = request;
  const { clientId, subject } = requester;
  const asked = clientId === undefined || clientId === subject ? [subject] : [clientId, subject];
  return [
    ['Asked by', asked.map(named).join(' for ')],
    ...(stages.length > 1 ? [['Stage', legible(openStage(request).name)] as const] : []),
    [
      'Decide before',
      `${moment(decideBefore(request), timeZone)}${isExtended(request) ? ' (an approver gave more time)' : ''}`,
    ],
    ...(questions.length === 0
      ? []
      : [['Questions', `the requester answered ${answersIn(request)} of ${questions.length}`] as const]),
  ];
}

/** What a message shows that asks something, and what it leaves out. */
function shownOfCall(request: AccessRequest, options: MessageOptions): Pick<Message, 'facts' | 'leftOut'> {
  const { facts, leftOut } = shownCall(request, options.shownArguments);
  return { facts: [...factsOf(request, options), ...facts], ...(leftOut !== undefined && { leftOut }) };
}

/** An instant (RFC 3339) in words, as a zone has it. */
export const moment = (at: string, timeZone: string) =>
  new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone,
  }).format(new Date(at)) + ` ${timeZone}`;

const ANSWERED = 'You answered. The request still waits for its approvers.';
const ENDS = {
  expired: 'No approver decided in time.',
  cancelled: 'The request was cancelled.',
  failed: 'The request failed.',
} as const;

function outcomeOf(request: AccessRequest, hasVoted: boolean, { people }: MessageOptions): string {
  const { status, votes, stage } = request;
  const nameOf = (subject: string) => legible(people.find(subject)?.displayName ?? subject);
  const by = (verdict: 'approve' | 'deny') => {
    const names = votes.filter((vote) => vote.verdict === verdict).map(({ approver }) => nameOf(approver.subject));
    return names.length === 0 ? '' : ` by ${new Intl.ListFormat('en').format([...new Set(names)])}`;
  };
  if (status === 'approved') return `Approved${by('approve')}.`;
  if (status === 'denied') return by('deny') === '' ? 'Denied, because the time was over.' : `Denied${by('deny')}.`;
  if (status !== 'pending') return ENDS[status];
  if (hasVoted) return 'You decided. The request still waits for others.';
  return stage > 1 ? 'Other people decide this now.' : 'You cannot decide this any more.';
}
