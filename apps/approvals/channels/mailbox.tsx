import type { RequestHandler } from 'express';
import type { ChannelName } from '../../shared/config/channel-settings.ts';
import type { Clock } from '../../shared/clock.ts';
import { Facts, Page, renderPage, Time } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { visiblePieces } from '../../shared/pages/visible-text.ts';
import { Pieces, Visible } from '../../shared/pages/visible.tsx';
import type { Channel, Recipient } from './channel.ts';
import { linksOf, type Message } from './message.ts';

/** A message as a channel would send it. */
export type ContentOf = (message: Message, to: Recipient) => Promise<Content>;

/** Messages that the mailbox keeps. A further one replaces the oldest. */
const MOST_KEPT = 200;

/** What a channel would send. */
export interface Content {
  /** How it begins. */
  readonly title: string;
  /** What the other side would get, to the letter. */
  readonly exact: string;
  /** The labels of its buttons that decide. */
  readonly buttons?: readonly string[];
  /** The facts that it shows, and what it says that it leaves out. Default: all. */
  readonly facts?: Message['facts'];
  readonly leftOut?: Message['leftOut'];
}

interface Kept extends Content {
  readonly id: number;
  readonly channel: ChannelName;
  readonly person: string;
  readonly link: string;
  readonly links: readonly (readonly [string, string])[];
  readonly outcome?: string | undefined;
  readonly facts: Message['facts'];
  readonly leftOut: Message['leftOut'];
  /** RFC 3339. */
  readonly at: string;
  /** How often it was changed in place. */
  readonly changes: number;
}

interface Form {
  readonly inPlace: boolean;
  readonly isRoom: boolean;
}

export type Mailbox = ReturnType<typeof createMailbox>;

/**
 * Keeps, in memory, what channels would send that are not configured, and shows it to people who sign in, at `GET /mailbox`. For development
 * only: each of them reads the messages to all. A program on the same machine has no sign-in, so it does not.
 */
export function createMailbox(clock: Clock) {
  const kept: Kept[] = [];
  let last = 0;
  const keep = (entry: Omit<Kept, 'id' | 'at'>): string => {
    kept.unshift({ ...entry, id: (last += 1), at: new Date(clock.now()).toISOString() });
    kept.splice(MOST_KEPT);
    return String(last);
  };
  return {
    /** A channel that delivers to the mailbox. Without `inPlace`, later messages follow the first one instead of changing it. */
    channel(name: ChannelName, contentOf: ContentOf, { inPlace, isRoom }: Form): Channel {
      const entryOf = async (message: Message, to: Recipient) => ({
        facts: message.facts,
        leftOut: message.leftOut,
        ...(await contentOf(message, to)),
        ...{ channel: name, person: to.person, link: message.link, links: linksOf(message), outcome: message.outcome },
      });
      return {
        isRoom,
        endsSilently: inPlace,
        changesSilently: inPlace,
        reachable: async (people) => people,
        send: async (message, to) => keep({ ...(await entryOf(message, to)), changes: 0 }),
        async update(message, to, externalId) {
          const entry = await entryOf(message, to);
          const at = kept.findIndex(({ id }) => String(id) === externalId);
          const before = kept[at];
          if (!inPlace || before === undefined) return keep({ ...entry, changes: 0 });
          kept[at] = { ...before, ...entry, changes: before.changes + 1 };
          return externalId;
        },
      };
    },

    /** `GET /mailbox`. Expects a person who has signed in before it. */
    show(): RequestHandler {
      return (request, response) => {
        const { person } = request.query;
        const messages = kept.filter((one) => person === undefined || one.person === person);
        response.vary('Accept');
        if (!wantsPage(request)) return void response.json({ messages });
        const people = [...new Set(kept.map((one) => one.person))].filter((one) => one !== '').sort();
        const current = typeof person === 'string' ? person : undefined;
        response.send(renderPage(<MailboxPage {...{ messages, people, current }} />, clock.now()));
      };
    },
  };
}

interface MailboxProps {
  readonly messages: readonly Kept[];
  /** Everyone to whom there is a message. */
  readonly people: readonly string[];
  /** The only one whose messages it shows. */
  readonly current: string | undefined;
}

function MailboxPage({ messages, people, current }: MailboxProps) {
  const isCurrent = (person: string | undefined) => person === current && { 'aria-current': 'page' as const };
  return (
    <Page title="Mailbox" section="Approvals">
      <div class="title-row">
        <h1>Mailbox</h1>
        {people.length > 0 && (
          <nav class="tabs" aria-label="Recipients">
            <a href="/mailbox" {...isCurrent(undefined)}>
              All
            </a>
            {people.map((person) => (
              <a key={person} href={`/mailbox?person=${encodeURIComponent(person)}`} {...isCurrent(person)}>
                <Visible text={person} />
              </a>
            ))}
          </nav>
        )}
      </div>
      <p class="lead">
        This page is for development. It shows what the channels would send that are not configured. Nothing here was
        sent. People decide in <a href="/requests">the inbox</a>.
      </p>
      {messages.length === 0 && (
        <p>There is no message yet. When an agent makes a call that needs approval, one appears.</p>
      )}
      {messages.map((one) => (
        <KeptMessage key={one.id} message={one} />
      ))}
    </Page>
  );
}

const HOW = { email: 'Email', slack: 'Slack', teams: 'Teams', push: 'Web push' } as const satisfies Record<
  ChannelName,
  string
>;

function KeptMessage({ message }: { message: Kept }) {
  const { id, channel, person, at, changes, title, outcome, facts, leftOut, buttons = [], exact, links } = message;
  return (
    <article class="card" aria-labelledby={`message-${id}`}>
      <h2 id={`message-${id}`}>
        <Visible text={title} />
      </h2>
      <p class="soft">
        {HOW[channel]} to {person === '' ? 'its channel' : <Visible text={person} />}, <Time at={at} />
        {changes > 0 && `, changed ${changes === 1 ? 'once' : `${changes} times`} since`}
      </p>
      {outcome !== undefined && (
        <p>
          <Visible text={outcome} />
        </p>
      )}
      {facts.length > 0 && (
        <Facts rows={facts.map(([name, value]) => [name, <Visible key={name} text={value} />] as const)} />
      )}
      {leftOut !== undefined && (
        <p>
          <Visible text={leftOut} />
        </p>
      )}
      {buttons.length > 0 && <p>In Slack, it has the buttons for: {buttons.join(', ')}.</p>}
      {links.map(([label, address]) => (
        <p key={address}>
          <a href={address}>
            <Visible text={label} />
          </a>
        </p>
      ))}
      <details>
        <summary>What would be sent</summary>
        <pre>
          {exact.split('\n').map((line, index) => (
            <>
              {index > 0 && '\n'}
              <Pieces pieces={visiblePieces(line, 'line')} kind="t" isDense />
            </>
          ))}
        </pre>
      </details>
    </article>
  );
}
