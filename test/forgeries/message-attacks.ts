import { randomBytes, randomUUID } from 'node:crypto';
import type { Chance } from '../histories/chance.ts';
import { secretFor, sending, type Message } from './genuine.ts';
import type { Ground, Post } from './ground.ts';

export interface MessageTarget {
  readonly ground: Ground;
  readonly message: Message;
  /** A message of the same kind that was taken for genuine before. */
  readonly last: Message;
  readonly chance: Chance;
}

/** Turns a signed message into one that no service may take for genuine. */
export type MessageAttack = (of: MessageTarget) => Post;

const headersOf = (post: Post, changes: Readonly<Record<string, string>>): Post => ({
  ...post,
  headers: { ...post.headers, ...changes },
});
const genuine = ({ ground, message }: MessageTarget) => sending(ground, message);
const signatureOf = (post: Post) => post.headers['webhook-signature'] ?? '';
const without = ({ headers, ...post }: Post, name: string): Post => ({
  ...post,
  headers: Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name)),
});

/** The content that an attacker would prefer. */
function wanted({ message: { body }, chance }: MessageTarget): Record<string, unknown> {
  return chance.oneOf<Record<string, unknown>>([
    { ...body, task: { id: `arq_${randomUUID()}`, status: 'approved' }, requestId: `arq_${randomUUID()}` },
    { ...body, verdict: 'deny', state: 'another', approver: { subject: 'bob' } },
    { ...body, generation: 2, result: { mode: 'reevaluate', approval: { id: 'apr_x' } }, reason: 'x' },
  ]);
}

/** Seconds, beyond the five minutes that are allowed; those ahead leave room for a message that is long on its way. */
const AT_ODDS = [-301, -3_600, -86_400, 360, 3_600, 86_400 * 365];

/** Texts that some readers take for the same time. */
const times = (time: string): readonly string[] => [
  `${time}.0`,
  `${time}junk`,
  ` ${time}0`,
  `+${time}`,
  `0x${Number(time).toString(16)}`,
  `${Number(time)}e0`,
  '',
  'NaN',
  '-1',
  `${time}${time}`,
];

export const MESSAGE_ATTACKS: Readonly<Record<string, MessageAttack>> = {
  'a bit of its body flipped'(of) {
    const post = genuine(of);
    const bytes = new Uint8Array(Buffer.from(String(post.body)));
    const at = of.chance.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << of.chance.below(8));
    return { ...post, body: bytes };
  },
  'a bit of its signature flipped'(of) {
    const post = genuine(of);
    const bytes = Buffer.from(signatureOf(post).slice(3), 'base64');
    const at = of.chance.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << of.chance.below(8));
    return headersOf(post, { 'webhook-signature': `v1,${bytes.toString('base64')}` });
  },
  'another body': (of) => ({ ...genuine(of), body: JSON.stringify(wanted(of)) }),
  'members of its body twice'(of) {
    const post = genuine(of);
    const body = `${String(post.body).slice(0, -1)},${JSON.stringify(wanted(of)).slice(1)}`;
    return { ...post, body };
  },
  'its body cut off': (of) => {
    const post = genuine(of);
    return { ...post, body: String(post.body).slice(0, of.chance.below(String(post.body).length)) };
  },
  'space around its body'(of) {
    const post = genuine(of);
    return {
      ...post,
      body: of.chance.oneOf([` ${String(post.body)}`, `${String(post.body)}\n`, `\ufeff${String(post.body)}`]),
    };
  },
  'another id': (of) => headersOf(genuine(of), { 'webhook-id': `msg_${randomUUID()}` }),
  'the border between id and time moved'(of) {
    const post = genuine(of);
    const [id = '', time = ''] = [post.headers['webhook-id'], post.headers['webhook-timestamp']];
    return headersOf(post, { 'webhook-id': `${id}.${time.slice(0, 4)}`, 'webhook-timestamp': time.slice(5) });
  },
  'another time'(of) {
    const post = genuine(of);
    const time = Number(post.headers['webhook-timestamp']) + of.chance.oneOf([-300, -1, 1, 60, 299]);
    return headersOf(post, { 'webhook-timestamp': String(time) });
  },
  'its time written otherwise'(of) {
    const post = genuine(of);
    return headersOf(post, { 'webhook-timestamp': of.chance.oneOf(times(post.headers['webhook-timestamp'] ?? '')) });
  },
  'signed at another time': (of) =>
    sending(of.ground, of.message, { at: new Date(Date.now() + of.chance.oneOf(AT_ODDS) * 1_000) }),
  'signed with a secret of the attacker': (of) =>
    sending(of.ground, of.message, { secret: `whsec_${randomBytes(24).toString('base64')}` }),
  'signed with the secret of the other messages': (of) =>
    sending(of.ground, of.message, {
      secret: secretFor(of.ground, of.message.to === 'callback' ? 'decision' : 'callback'),
    }),
  'other words under an id that was used, signed by the sender': ({ ground, message, last }) =>
    sending(ground, { ...message, id: last.id }),
  'the signature of the message before'(of) {
    return headersOf(genuine(of), { 'webhook-signature': signatureOf(sending(of.ground, of.last)) });
  },
  'the headers of the message before': (of) => ({ ...sending(of.ground, of.last), body: genuine(of).body }),
  'another version of signature'(of) {
    const post = genuine(of);
    const version = of.chance.oneOf(['v0', 'v2', 'v1a', 'V1', 'v1 ', ' ', '']);
    return headersOf(post, { 'webhook-signature': signatureOf(post).replace('v1', version) });
  },
  'many signatures without a valid one'(of) {
    const wrong = Array.from({ length: 1 + of.chance.below(8) }, () => `v1,${randomBytes(32).toString('base64')}`);
    const versions = of.chance.oneOf([[], ['v1a,AAAA'], [signatureOf(genuine(of)).replace('v1', 'v1a')]]);
    return headersOf(genuine(of), { 'webhook-signature': [...versions, ...wrong].join(' ') });
  },
  'signatures of others in another order'(of) {
    const mine = sending(of.ground, of.message, { secret: `whsec_${randomBytes(24).toString('base64')}` });
    const list = [signatureOf(sending(of.ground, of.last)), signatureOf(mine)];
    return headersOf(genuine(of), { 'webhook-signature': (of.chance.happens(0.5) ? list : list.reverse()).join(' ') });
  },
  'its signature written otherwise'(of) {
    const post = genuine(of);
    const bytes = Buffer.from(signatureOf(post).slice(3), 'base64');
    const texts = [
      bytes.toString('hex'),
      bytes.subarray(0, 16).toString('base64'),
      '',
      '=',
      bytes.toString('latin1').replace(/[^!-~]/g, 'x'),
    ];
    return headersOf(post, { 'webhook-signature': `v1,${of.chance.oneOf(texts)}` });
  },
  'a header left out': (of) =>
    without(genuine(of), of.chance.oneOf(['webhook-id', 'webhook-timestamp', 'webhook-signature'])),
  'its headers under earlier names'(of) {
    const { headers, ...post } = genuine(of);
    return {
      ...post,
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.replace('webhook', 'svix'), value]),
      ),
    };
  },
};
