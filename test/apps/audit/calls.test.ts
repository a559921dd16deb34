import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { anOpening, TEST_SEALS } from '../../support/gated-calls.ts';
import type { EndedCall } from './ended-calls.ts';
import { startAuditApp, type AuditUnderTest } from './audit-app.ts';

const keyed = ({ opening }: EndedCall) => TEST_SEALS.digest(opening.binding.callDigest);

let audit: AuditUnderTest;
beforeAll(async () => void (audit = await startAuditApp()));
afterAll(() => audit.stop());

describe('the records of a call', () => {
  it('are found only by its keyed digest, so a short secret in the arguments cannot be guessed', async () => {
    const pin = Math.floor(Math.random() * 1_000);
    const guess = (tried: number) => anOpening({ args: { pin: String(tried).padStart(3, '0') } }).binding.callDigest;
    const call = await audit.calls.end('executed', anOpening({ args: { pin: String(pin).padStart(3, '0') } }));
    expect(call.opening.binding.callDigest).toBe(guess(pin));
    const ways = [(digest: string) => `/by-call/${digest}`, (digest: string) => `?callDigest=${digest}`];
    for (const way of ways) {
      const answers = await Promise.all(
        [pin, (pin + 1) % 1_000, (pin + 500) % 1_000].map((tried) =>
          audit.json(`/outcome-records${way(guess(tried))}`),
        ),
      );
      const [right, ...wrong] = answers.map(({ status, body }) => [status, body.detail]);
      expect(right).toEqual([400, expect.stringContaining('hmac-sha-256:')]);
      for (const one of wrong) expect(one).toEqual(right);
      expect((await audit.json(`/outcome-records${way(keyed(call))}`)).status).toBe(200);
    }
  });

  it('are all reachable by links when there are more than one page holds', async () => {
    const opening = anOpening();
    const calls: EndedCall[] = [];
    for (let i = 0; i < 52; i += 1) calls.push(await audit.calls.end('denied', opening));
    const [first] = calls as [EndedCall];
    const { body } = await audit.json(`/outcome-records/by-call/${keyed(first)}`);
    expect(body.items).toHaveLength(50);
    const all = await audit.json(`${body.more}&limit=200`);
    expect(all.body.items.map((item: { taskId: string }) => item.taskId)).toEqual(
      calls.map(({ taskId }) => taskId).reverse(),
    );
    const page = await audit.get(`/outcome-records/by-call/${keyed(first)}`, { accept: 'text/html' });
    expect(page.text).toContain(`href="${body.more}"`);
  });
});
