import { expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { asTitle, clockFault } from '../../../../../apps/shared/http/signing-time.ts';
import { readSignedMessage, signedHeaders } from '../../../../../apps/shared/http/webhook-signature.ts';

const secretOf = (text: string) => `whsec_${Buffer.from(text).toString('base64')}`;
const webhook = new Webhook(secretOf('the secret of the sender'));
const other = new Webhook(secretOf('the secret of a stranger'));
const BODY = '{"a":1}';

/** What the receiver says to a message that was signed this many seconds ago. */
function read(secondsAgo: number, { by = webhook, body = BODY }: { by?: Webhook; body?: string } = {}): string {
  const headers = signedHeaders(by, { id: 'msg_1', body: BODY, at: new Date(Date.now() - secondsAgo * 1_000) });
  const message = readSignedMessage(webhook, Buffer.from(body), headers);
  return 'fault' in message ? message.fault : 'taken';
}
const secondsIn = (fault: string) => Number(/^the clock differs by (\d+) seconds$/.exec(fault)?.[1]);

it.each([0, 290, -290])('takes a message that was signed %i seconds ago', (ago) => {
  expect(read(ago)).toBe('taken');
});

it.each([301, 3_600, -330, -86_400, 1_700_000_000])(
  'tells a sender whose message was signed %i seconds ago by how much the clock differs',
  (ago) => {
    // The clock of the receiver goes on.
    expect(Math.abs(secondsIn(read(ago)) - Math.abs(ago))).toBeLessThanOrEqual(10);
  },
);

it.each([0, 600, -600])('tells others nothing about the clock, %i seconds ago', (ago) => {
  expect([read(ago, { by: other }), read(ago, { body: '{"a":2}' })]).toEqual(
    Array(2).fill('the signature is not valid'),
  );
});

it.each([
  [300_000, undefined],
  [-300_000, undefined],
  [300_001, 'The clock differs by 301 seconds'],
  [-420_000, 'The clock differs by 420 seconds'],
])('judges a difference of %i milliseconds alike in both directions', (differenceMs, title) => {
  const fault = clockFault(1_000, 1_000_000 + differenceMs);
  expect(fault && asTitle(fault)).toBe(title);
});
