import { createHmac } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { KnownBlock } from '@slack/types';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { serve } from './serve.ts';

export const SLACK_TOKEN = 'xoxb-of-the-tests';
export const SLACK_SECRET = 'the signing secret of the tests';
const TEAM = 'T0TESTS';

interface Account {
  readonly email: string;
  readonly isConfirmed?: boolean;
  readonly team?: string;
  readonly isBot?: boolean;
}

/** A message as people see it now. */
export interface SlackMessage {
  readonly channel: string;
  readonly ts: string;
  text: string;
  blocks: KnownBlock[];
  changes: number;
  readonly thread?: string;
}

type Answer = Record<string, unknown>;

/** The methods of Slack's Web API that the product uses, with the errors and limits that its reference names. */
export class SlackServer {
  readonly accounts = new Map<string, Account>();
  readonly messages: SlackMessage[] = [];
  /** What single people were told. */
  readonly whispers: { user: string; text: string }[] = [];
  /** Errors that answer the next messages. */
  readonly errors: string[] = [];
  #server: HttpServer | undefined;
  #last = 0;

  /** Returns the settings of the channel. */
  async start() {
    this.#server = await serve((request, response) => {
      void text(request).then((body) => {
        const isOurs = request.headers.authorization === `Bearer ${SLACK_TOKEN}`;
        const method = (request.url ?? '').split('/').at(-1) ?? '';
        const answer = isOurs ? this.#answer(method, new URLSearchParams(body)) : fault('invalid_auth');
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
    });
    return { token: SLACK_TOKEN, signingSecret: SLACK_SECRET, apiUrl: `${this.#server.url}/api/` };
  }

  stop = () => this.#server?.close();

  #answer(method: string, body: URLSearchParams): Answer {
    const of = (name: string) => body.get(name) ?? '';
    if (method === 'auth.test') return { ok: true, team_id: TEAM };
    if (method === 'users.lookupByEmail') {
      const [id] = [...this.accounts].find(([, { email }]) => email === of('email')) ?? [];
      return id === undefined ? fault('users_not_found') : { ok: true, user: this.#user(id) };
    }
    if (method === 'users.info') return { ok: true, user: this.#user(of('user')) };
    if (method === 'chat.postEphemeral') {
      this.whispers.push({ user: of('user'), text: of('text') });
      return { ok: true };
    }
    return this.#write(method, body);
  }

  #user(id: string) {
    const { email, isConfirmed = true, team = TEAM, isBot = false } = this.accounts.get(id) ?? { email: undefined };
    return { id, team_id: team, deleted: false, is_bot: isBot, is_email_confirmed: isConfirmed, profile: { email } };
  }

  #write(method: string, body: URLSearchParams): Answer {
    const error = this.errors.shift();
    if (error !== undefined) return fault(error);
    const blocks = JSON.parse(body.get('blocks') ?? '[]') as KnownBlock[];
    const broken = faultOf(blocks);
    if (broken !== undefined) return { ...fault('invalid_blocks'), response_metadata: { messages: [broken] } };
    if (method === 'chat.update') {
      const found = this.messages.find(({ channel, ts }) => channel === body.get('channel') && ts === body.get('ts'));
      if (found === undefined) return fault('message_not_found');
      Object.assign(found, { blocks, text: body.get('text') ?? '', changes: found.changes + 1 });
      return { ok: true, channel: found.channel, ts: found.ts };
    }
    const user = body.get('channel') ?? '';
    const id = user.startsWith('D') ? user.slice(1) : user;
    if (!this.accounts.has(id)) return fault('channel_not_found');
    const ts = `${(this.#last += 1)}.000100`;
    const thread = body.get('thread_ts');
    this.messages.push({
      ...{ channel: `D${id}`, ts, text: body.get('text') ?? '', blocks, changes: 0 },
      ...(thread !== null && { thread }),
    });
    return { ok: true, channel: `D${id}`, ts };
  }

  /** Messages about a request, as their person sees them now. */
  about(id: string, user?: string): SlackMessage[] {
    return this.messages.filter(
      ({ channel, blocks }) => JSON.stringify(blocks).includes(id) && (user === undefined || channel === `D${user}`),
    );
  }
}

const fault = (error: string): Answer => ({ ok: false, error });

/** The first limit of Block Kit that these blocks break. */
function faultOf(blocks: readonly KnownBlock[]): string | undefined {
  const text = JSON.stringify(blocks, (key, value: unknown) => (key === 'value' ? undefined : value));
  if (blocks.length > 50) return 'more than 50 blocks';
  if (/"type":"mrkdwn"/.test(text)) return 'a text of ours is plain';
  for (const block of blocks) {
    if (block.type === 'section' && (block.text?.text.length ?? 0) > 3_000) return 'a section is too long';
    if (block.type === 'section' && block.text?.text === '') return 'a text is empty';
    if (block.type !== 'actions') continue;
    for (const one of block.elements) {
      if (one.type !== 'button') return 'only buttons are ours';
      if (one.text.text.length > 75 || (one.value?.length ?? 0) > 2_000) return 'a button is too long';
      if ((one.confirm?.title?.text.length ?? 0) > 100 || (one.confirm?.text.text.length ?? 0) > 300)
        return 'a dialog is too long';
    }
  }
  return undefined;
}

/** The values of the buttons that decide, in a message. */
export function buttonsOf({ blocks }: SlackMessage): { approve?: string; deny?: string; link?: string } {
  const buttons = blocks.flatMap((block) => (block.type === 'actions' ? block.elements : []));
  const valueOf = (id: string) => {
    const found = buttons.find((one) => one.type === 'button' && one.action_id === id);
    return found?.type === 'button' ? (found.value ?? found.url) : undefined;
  };
  const [approve, deny, link] = ['approve', 'deny', 'open'].map((one) => valueOf(`countersign_${one}`));
  return { ...(approve && { approve }), ...(deny && { deny }), ...(link && { link }) };
}

interface Press {
  readonly user: string;
  readonly verdict: 'approve' | 'deny';
  readonly value: string | undefined;
  /** Seconds by which its time differs. */
  readonly age?: number;
  readonly secret?: string;
  /** Changes the JSON before it is signed. */
  readonly rewrite?: (payload: string) => string;
}

/** A button that was pressed, as Slack reports it. @see Slack, Verifying requests from Slack */
export function pressed({
  user,
  verdict,
  value,
  age = 0,
  secret = SLACK_SECRET,
  rewrite = (payload) => payload,
}: Press) {
  const payload = {
    type: 'block_actions',
    user: { id: user, team_id: TEAM },
    team: { id: TEAM },
    container: { type: 'message', channel_id: `D${user}`, message_ts: '1.000100' },
    actions: [{ action_id: `countersign_${verdict}`, type: 'button', value }],
  };
  const body = new URLSearchParams({ payload: rewrite(JSON.stringify(payload)) }).toString();
  const timestamp = String(Math.floor(Date.now() / 1_000) - age);
  const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex');
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': `v0=${signature}`,
  };
  return { method: 'POST', body, headers };
}
