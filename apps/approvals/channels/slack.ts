import type { Button, KnownBlock } from '@slack/types';
import { ErrorCode, type WebAPICallError, WebClient } from '@slack/web-api';
import { LRUCache } from 'lru-cache';
import type { SlackSettings } from '../../shared/config/channel-settings.ts';
import { secretText } from '../../shared/config/secrets.ts';
import type { DirectoryPerson, DirectorySource } from '../../shared/directory/directory.ts';
import type { Limits } from '../../shared/limits.ts';
import { type Channel, Undeliverable } from './channel.ts';
import { type ChatBallot, linksOf, type Message } from './message.ts';
import { cutText } from './shown-call.ts';

/** Characters that Slack accepts in one text of a block. */
const LONGEST_TEXT = 3_000;
/** People whose ids in Slack are remembered, for an hour. */
const KNOWN_PEOPLE = 5_000;
const KNOWN_FOR_MS = 3_600_000;
/** Answers of Slack that stay the same however often it is asked. */
const FINAL = new Set([
  'users_not_found',
  'user_not_found',
  'user_disabled',
  'channel_not_found',
  'message_not_found',
  'cant_update_message',
  'edit_window_closed',
  'is_archived',
  'messages_tab_disabled',
  'cannot_dm_bot',
]);

export const ACTIONS = { approve: 'countersign_approve', deny: 'countersign_deny', open: 'countersign_open' } as const;

/** Seals what the buttons of one person decide, so that neither the person nor Slack can change it. */
export type SealBallot = (ballot: ChatBallot, person: string, verdict: 'approve' | 'deny') => Promise<string>;

/** A dialog has no room for all arguments. */
const IN_DIALOG = {
  approve: 'The message shows all arguments of the call.',
  deny: 'The call does not run.',
} as const;
const LONGEST_IN_DIALOG = 240;
const LONGEST_LABEL = 70;
const NOT_WHOLE = 'To approve it, open the request.';

const plain = (text: string) => ({ type: 'plain_text', text: text.slice(0, LONGEST_TEXT), emoji: false }) as const;
const section = (text: string) => ({ type: 'section', text: plain(text) }) as const;
const OPENING = {
  ask: 'Your decision is needed',
  remind: 'Reminder: your decision is needed',
  question: 'An approver asks you about your request',
  digest: 'Requests wait for you',
  over: '',
};

/** A message as blocks. All texts are plain, so no value is read as markup, a mention or a link. */
export async function blocksOf(message: Message, person: string, seal: SealBallot): Promise<KnownBlock[]> {
  const { kind, sentence, facts, leftOut, outcome, ballot } = message;
  const open = linksOf(message).map(([label, url], at): Button => ({
    ...{ type: 'button', text: plain(cutText(label, LONGEST_LABEL)), url },
    action_id: at === 0 ? ACTIONS.open : `${ACTIONS.open}_${at}`,
  }));
  const decide =
    ballot === undefined ? [] : await buttonsFor(sentence, ballot, (verdict) => seal(ballot, person, verdict));
  return [
    section(outcome ?? `${OPENING[kind]}.`),
    section(sentence),
    ...facts.map(([name, value]) => section(`${name}: ${value}`)),
    ...(leftOut === undefined ? [] : [section(leftOut)]),
    ...(ballot?.mayApprove === false ? [section(NOT_WHOLE)] : []),
    { type: 'actions', elements: [...decide, ...open] },
  ];
}

/** Each asks once more, because a decision cannot be changed. */
async function buttonsFor(
  sentence: string,
  { mayApprove }: ChatBallot,
  valueOf: (verdict: 'approve' | 'deny') => Promise<string>,
): Promise<Button[]> {
  const button = async (verdict: 'approve' | 'deny', label: string, style: 'primary' | 'danger'): Promise<Button> => ({
    type: 'button',
    ...{ action_id: ACTIONS[verdict], text: plain(label), style, value: await valueOf(verdict) },
    confirm: {
      ...{ title: plain(`${label}?`), text: plain(`${cutText(sentence, LONGEST_IN_DIALOG)}\n${IN_DIALOG[verdict]}`) },
      ...{ confirm: plain(label), deny: plain('Back') },
    },
  });
  const deny = await button('deny', 'Deny', 'danger');
  return mayApprove ? [await button('approve', 'Approve', 'primary'), deny] : [deny];
}

/** The text of the notice on a screen. Slack reads these three characters as markup. */
const notice = ({ kind, sentence, outcome }: Message) =>
  `${outcome ?? `${OPENING[kind]}:`} ${sentence}`.replace(
    /[&<>]/g,
    (one) => ({ '&': '&amp;', '<': '&lt;' })[one] ?? '&gt;',
  );

/** The reply in the thread of a message that has changed. */
const reminderOf = (message: Message) => ({
  ...{ text: notice(message), parse: 'none' as const, mrkdwn: false },
  blocks: [section(`${OPENING[message.kind]}: ${message.sentence}`)],
});

interface SlackOptions {
  readonly people: DirectorySource;
  readonly seal: SealBallot;
}

/** A client that makes each request once: the outbox tries again. */
export async function slackClient({ token, apiUrl }: SlackSettings, limits: Limits): Promise<WebClient> {
  return new WebClient(await secretText(token, 'approvals.channels.slack.token'), {
    slackApiUrl: apiUrl,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: limits.webhookMs,
    allowAbsoluteUrls: false,
    // Its own log names methods, and may hold answers.
    logger: SILENT,
  });
}

const none = () => undefined;
const SILENT = {
  debug: none,
  info: none,
  warn: none,
  error: none,
  setLevel: none,
  setName: none,
  getLevel: () => 'error',
} as never;

/** Direct messages. A message is changed in place when its request is decided. */
export function slackChannel(client: WebClient, { people, seal }: SlackOptions): Channel {
  const idOf = personIds(client);
  const textsOf = async (message: Message, person: string) => ({
    text: notice(message),
    blocks: await blocksOf(message, person, seal),
    parse: 'none' as const,
    link_names: false,
  });
  const post = (message: Message, person: string) =>
    answered(async () => {
      const channel = await idOf(people().find(person));
      const quiet = { unfurl_links: false, unfurl_media: false };
      const texts = await textsOf(message, person);
      const sent = await client.chat.postMessage({ channel, ...texts, mrkdwn: false, ...quiet });
      return sent.channel && sent.ts && `${sent.channel}/${sent.ts}`;
    });
  return {
    isRoom: false,
    endsSilently: true,
    changesSilently: true,
    reachable: async (subjects) =>
      subjects.filter((one) => {
        const { slackId, email } = people().find(one) ?? {};
        return (slackId ?? email) !== undefined;
      }),
    send: (message, to) => post(message, to.person),
    async update(message, to, externalId) {
      // It is not known whether, and where, the first one arrived.
      const isHeard = message.kind !== 'over' && message.isSilent !== true;
      if (externalId === undefined) return isHeard ? post(message, to.person) : undefined;
      const [channel = '', ts = ''] = externalId.split('/');
      await answered(async () => client.chat.update({ channel, ts, ...(await textsOf(message, to.person)) }));
      // A change makes no sound, so people are asked again below it.
      if (isHeard) await answered(() => client.chat.postMessage({ channel, thread_ts: ts, ...reminderOf(message) }));
      return externalId;
    },
    examine: async () => void (await answered(() => client.auth.test())),
  };
}

function personIds(client: WebClient) {
  const known = new LRUCache<string, string>({ max: KNOWN_PEOPLE, ttl: KNOWN_FOR_MS });
  return async (person: DirectoryPerson | undefined): Promise<string> => {
    const { slackId, email } = person ?? {};
    if (slackId !== undefined) return slackId;
    if (email === undefined) throw new Undeliverable('the directory has no address of the person any more');
    const before = known.get(email);
    if (before !== undefined) return before;
    const { user } = await client.users.lookupByEmail({ email });
    if (user?.id === undefined || user.deleted || user.is_bot)
      throw new Undeliverable('the person has no account in Slack');
    known.set(email, user.id);
    return user.id;
  };
}

/** Errors without what Slack or the network said about the person, whom the log must not name. */
async function answered<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof Undeliverable) throw error;
    const failure = error as WebAPICallError;
    if (failure.code !== ErrorCode.PlatformError)
      throw new Error(`Slack did not answer (${failure.code})`, { cause: error });
    const why = failure.data.error;
    throw FINAL.has(why)
      ? new Undeliverable(`Slack refused the message (${why})`)
      : new Error(`Slack refused a request (${why})`);
  }
}
