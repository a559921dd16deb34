import { sha256 } from '../../shared/crypto.ts';
import { addressOf } from '../../shared/http/list-cursor.ts';
import type { Gathered, HeldMessage } from '../stores/messages.ts';
import { asServiceFailure, Undeliverable } from './channel.ts';
import type { Bringing } from './delivery-options.ts';
import { type Message, moment } from './message.ts';
import { notifyOf, whenAllowed } from './schedule.ts';
import { cutText } from './shown-call.ts';
import { writtenName } from './written.ts';

/** Agents that a digest names, and characters of a name. */
const MOST_AGENTS = 20;
const LONGEST_NAME = 60;
/** Agents to whose requests a digest has a link of their own. */
const MOST_LINKS = 5;
const EMPTY = 'none';
const NOTHING_WAITS = 'Nothing waits for you any more.';

/**
 * Brings the digest of a person to what it has to say now: how many requests of which agents wait for them, of those for which there was no
 * room. If there are new ones, the person hears it as soon as there is room. Until then, and when there are fewer, it changes in place
 * where that makes no sound. Returns the message as it is then; undefined if nothing was sent.
 */
export async function bringDigest(
  id: string,
  before: HeldMessage,
  options: Bringing,
): Promise<HeldMessage | undefined> {
  const { store, channel, name, clock } = options;
  const gathered = await store.gatheredFor(before.person, name);
  const [upTo = '0', said = EMPTY] = (before.told ?? '').split(' ');
  const toldUpTo = Number(upTo);
  const latest = Math.max(toldUpTo, ...gathered.map((one) => one.latest));
  const message = digestOf(gathered, before.person, options);
  const isAnew = channel.endsSilently && said === EMPTY;
  const send = (what: Message, told: string) =>
    sendDigest(id, { ...before, told }, { ...options, message: what, isAnew });
  if (gathered.length === 0) {
    const isShown = channel.endsSilently && said !== EMPTY;
    return isShown ? send(message, `${toldUpTo} ${EMPTY}`) : undefined;
  }
  if (latest > toldUpTo) {
    const at = whenHeard(gathered, before.person, options);
    const next = at > clock.now() ? new Date(at) : await store.admitDigest(id, toldUpTo);
    if (next === undefined) return send(message, `${latest} ${message.key}`);
    await store.scheduleDigest(before.person, name, next);
  }
  const mayChange = channel.changesSilently && said !== EMPTY && said !== message.key;
  return mayChange ? send({ ...message, isSilent: true }, `${toldUpTo} ${message.key}`) : undefined;
}

interface Digest {
  readonly message: Message;
  /** Whether it begins a new message, because the one before is over and far up in a chat. */
  readonly isAnew: boolean;
}

async function sendDigest(
  id: string,
  { told = '', ...before }: HeldMessage,
  { store, channel, name, people, message, isAnew, log }: Bringing & Digest,
): Promise<HeldMessage> {
  const { person, hasBegun, externalId } = before;
  const to = { person, name: people().find(person)?.displayName ?? person };
  await store.beginMessage(id);
  const sendAnew = () => channel.send(message, to);
  const isHeard = message.kind === 'digest' && message.isSilent !== true;
  // The person may have deleted the message before.
  const ifGone = (err: unknown) => {
    if (isHeard && err instanceof Undeliverable) return sendAnew();
    throw err;
  };
  const sending = hasBegun && !isAnew ? channel.update(message, to, externalId).catch(ifGone) : sendAnew();
  const sent = await sending.catch((err: unknown) => {
    if (!(err instanceof Undeliverable)) throw asServiceFailure(err, name);
    log.warn({ err, channel: name }, 'a message to a person was given up');
    return undefined;
  });
  await store.noteMessage(id, told, sent);
  const now = sent ?? externalId;
  return { ...before, hasBegun: true, told, ...(now !== undefined && { externalId: now }) };
}

/** Quiet hours end for a digest that counts an urgent request. */
function whenHeard(gathered: readonly Gathered[], person: string, { config, people, clock }: Bringing): number {
  const settings = config.approvals.channels;
  const templates = gathered.flatMap((one) => one.templates);
  const urgent = templates.some((template) => notifyOf(config, template).urgent);
  return whenAllowed(clock.now(), person, { settings, notify: { urgent, arguments: [] }, people: people() });
}

function digestOf(gathered: readonly Gathered[], person: string, { config, people }: Bringing): Message {
  const inbox = config.urls.approvals;
  const zone = people().find(person)?.timeZone ?? config.approvals.channels.quietHours?.timeZone ?? 'UTC';
  const named = gathered
    .slice(0, MOST_AGENTS)
    .map((one) => ({ ...one, name: cutText(writtenName(one.agent), LONGEST_NAME) }));
  const rest = gathered.slice(MOST_AGENTS).reduce((sum, { count }) => sum + count, 0);
  const list = `${inbox}${addressOf('/requests', { status: 'yours' })}`;
  const linkTo = ({ agent, isClient }: Gathered) =>
    `${inbox}${addressOf('/requests', { status: 'yours', ...(isClient ? { agent } : { requester: agent }) })}`;
  const links = named.slice(0, MOST_LINKS).map((one) => [`Open the requests of ${one.name}`, linkTo(one)] as const);
  const [first] = gathered;
  return {
    requestId: 'digest',
    kind: gathered.length === 0 ? 'over' : 'digest',
    key: sha256(JSON.stringify(gathered)).slice(0, 32),
    sentence: gathered.length === 0 ? 'No requests' : sentenceOf(named, rest),
    ...(gathered.length === 0 && { outcome: NOTHING_WAITS }),
    facts: named.map(
      ({ name, count, firstEnd }) => [name, `${requests(count)}, the first ends ${moment(firstEnd, zone)}`] as const,
    ),
    link: gathered.length === 1 && first !== undefined ? linkTo(first) : list,
    ...(gathered.length > 1 && { links: [...links, ['Open all requests', list] as const] }),
    ...(gathered.length === 1 && { links }),
    ...(gathered.length === 0 && { links: [['Open the list', list] as const] }),
  };
}

const requests = (count: number) => (count === 1 ? '1 request' : `${count} requests`);

/** `claude-code: 11 more` */
function sentenceOf(named: readonly { readonly name: string; readonly count: number }[], rest: number): string {
  const shown = named.slice(0, MOST_LINKS);
  const others = rest + named.slice(MOST_LINKS).reduce((sum, { count }) => sum + count, 0);
  const said = shown.map(({ name, count }) => `${name}: ${count} more`);
  return [...said, ...(others > 0 ? [`other agents: ${others} more`] : [])].join(', ');
}
