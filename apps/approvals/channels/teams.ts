import { request } from 'undici';
import { secretText } from '../../shared/config/secrets.ts';
import type { TeamsSettings } from '../../shared/config/channel-settings.ts';
import { isTrustworthy, NOT_TRUSTWORTHY } from '../../shared/config/units.ts';
import { createGuardedAgent } from '../../shared/http/guarded-agent.ts';
import type { Timing } from '../../shared/limits.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { type Channel, Undeliverable } from './channel.ts';
import { linksOf, type Message } from './message.ts';

const OPENING = {
  ask: 'A decision is needed',
  remind: 'Reminder: a decision is needed',
  // A room has no requester.
  question: '',
  digest: 'Requests wait for decisions',
  over: '',
};
const SETTING = 'approvals.channels.teams.webhook';

/** A run of text. Unlike a `TextBlock`, it is not read as Markdown. @see Adaptive Cards, RichTextBlock */
const line = (text: string, more: { readonly weight?: 'Bolder'; readonly size?: 'Medium' } = {}) => ({
  type: 'RichTextBlock',
  inlines: [{ type: 'TextRun', text, ...more }],
});

/** A message as an Adaptive Card of version 1.4, which Teams shows on all devices. */
export const cardOf = ({ kind, sentence, facts, leftOut, outcome, ...links }: Message) => ({
  $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
  type: 'AdaptiveCard',
  version: '1.4',
  body: [
    line(outcome ?? `${OPENING[kind]}.`, { weight: 'Bolder', size: 'Medium' }),
    line(sentence),
    ...facts.map(([name, value]) => line(`${name}: ${value}`)),
    ...(leftOut === undefined ? [] : [line(leftOut)]),
  ],
  actions: linksOf(links).map(([title, url]) => ({ type: 'Action.OpenUrl', title, url })),
});

/** The body that the trigger of a workflow expects ("When a Teams webhook request is received"). */
export const postOf = (message: Message) => ({
  type: 'message',
  attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: cardOf(message) }],
});

/**
 * Posts cards to the channel or chat of a Teams workflow. A workflow answers without the id of the card, so a later message follows the
 * first one instead of changing it.
 */
export async function teamsChannel({ webhook, networks }: TeamsSettings, { clock, limits }: Timing): Promise<Channel> {
  const url = await secretText(webhook, SETTING);
  if (!URL.canParse(url) || !isTrustworthy(url))
    throw new CountersignError('ERR_CONFIG_INVALID', `${SETTING}: ${NOT_TRUSTWORTHY}`);
  const advice = 'if it is correct, add its network to approvals.channels.teams.networks';
  const guard = createGuardedAgent(networks, { advice });
  const post = async (message: Message) => {
    guard.check(url);
    const { statusCode, body } = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(postOf(message)),
      signal: clock.signalAfter(limits.webhookMs),
      dispatcher: guard.agent,
    }).catch((cause: unknown) => {
      // The address is a secret, which the error may hold.
      throw new Error(`the workflow of Teams did not answer (${(cause as NodeJS.ErrnoException).code ?? 'no code'})`);
    });
    await body.dump();
    if (statusCode >= 200 && statusCode < 300) return undefined;
    if (statusCode === 413) throw new Undeliverable('the message is too long for Teams');
    throw new Error(`the workflow of Teams answered ${statusCode}`);
  };
  return {
    isRoom: true,
    endsSilently: false,
    changesSilently: false,
    reachable: async () => [],
    send: post,
    update: post,
  };
}
