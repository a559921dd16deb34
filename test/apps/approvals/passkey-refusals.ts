import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type ConfirmedVote, voteChallenge } from '../../../workflows/domain/access-request/passkey.ts';
import { Authenticator, type Ceremony } from '../../support/authenticator.ts';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { sha256 } from '../../../apps/shared/crypto.ts';
import { newVote } from '../../support/access-requests.ts';
import { registered } from '../../support/passkeys.ts';
import type { Opened, PasskeyWorld } from './passkey-world.ts';

/** Attacks on the approval of a stage that demands a passkey. Each must leave the request undecided. */
export function refusedApprovals({
  service,
  inboxOf,
  keyOf,
  open,
  formFor,
  statusOf,
  votesOn,
  query,
}: PasskeyWorld): void {
  describe('an approval is refused, and nothing is decided,', () => {
    /** Signs a challenge of our own making, as a thief of the key may. */
    const challengeFor = (vote: object, changed: object = {}) =>
      createHash('sha256')
        .update(JSON.stringify({ ...(JSON.parse(voteChallenge(vote as ConfirmedVote, sha256)) as object), ...changed }))
        .digest('base64url');
    const seen = ({ id: request, callDigest }: Opened, nonce: string): ConfirmedVote => ({
      ...{ approver: 'alice', signer: 'alice', request, callDigest, generation: 1, stage: 1, nonce },
    });

    it.each([
      ['another call', { callDigest: `sha-256:${'0'.repeat(64)}` }],
      ['another request', { request: 'arq_another' }],
      ['another generation', { generation: 2 }],
      ['another stage', { stage: 2 }],
      ['another approver', { approver: 'bob' }],
      ['another nonce', { nonce: randomBytes(32).toString('base64url') }],
    ])('when the passkey signed %s', async (_what, changed) => {
      const request = await open();
      const { asked, send, nonce } = await formFor('alice', request);
      const challenge = challengeFor({ ...seen(request, nonce), ...changed });
      expect(challengeFor(seen(request, nonce))).toBe(asked().challenge);
      expect((await send(keyOf('alice').get({ ...asked(), challenge }))).status).toBe(403);
      expect([await statusOf(request), await votesOn(request)]).toEqual(['pending', []]);
    });

    it.each<[string, Partial<ConfirmedVote>, string, string]>([
      ['another call', { callDigest: `sha-256:${'0'.repeat(64)}` }, 'inbox', 'passkey_invalid'],
      ['another request', { request: 'arq_another' }, 'inbox', 'passkey_invalid'],
      ['another generation', { generation: 2 }, 'inbox', 'passkey_invalid'],
      ['another stage', { stage: 2 }, 'inbox', 'passkey_invalid'],
      ['another approver', { approver: 'bob' }, 'inbox', 'passkey_invalid'],
      ['another signer', { signer: 'bob' }, 'inbox', 'passkey_invalid'],
      ['another nonce', { nonce: 'x'.repeat(43) }, 'inbox', 'passkey_invalid'],
      ['the vote of a program', {}, 'api', 'passkey_needed'],
      ['the right vote', {}, 'inbox', 'counted'],
    ])('by the database alone when the passkey signed %s', async (_what, changed, via, outcome) => {
      const request = await open();
      const { nonce } = await formFor('alice', request);
      const { rows } = await query('SELECT public_key FROM approvals.passkey WHERE id = $1', keyOf('alice').id);
      const kept = { credentialId: keyOf('alice').id, publicKey: rows[0].public_key as string };
      const challenge = voteChallenge({ ...seen(request, nonce), ...changed }, sha256);
      const assertion = { ...kept, authenticatorData: 'x', clientDataJSON: 'x', signature: 'x', challenge, nonce };
      const confirmed = { assertion, counter: (keyOf('alice').counter += 1) };
      const store = createAccessRequestStore(service.database.pool);
      expect(await store.castVote(newVote(request, { via: via as 'inbox', confirmed }))).toBe(outcome);
      expect(await statusOf(request)).toBe(outcome === 'counted' ? 'approved' : 'pending');
    });

    it('when the passkey signed another verdict', async () => {
      const request = await open();
      const { asked, send, nonce } = await formFor('alice', request);
      const challenge = challengeFor(seen(request, nonce), { verdict: 'deny' });
      expect((await send(keyOf('alice').get({ ...asked(), challenge }))).status).toBe(403);
      expect([await statusOf(request), await votesOn(request)]).toEqual(['pending', []]);
    });

    it.each<[string, (asked: Ceremony) => Ceremony]>([
      ['for another site', (asked) => ({ ...asked, origin: 'https://countersign.example' })],
      ['for another port of this machine', (asked) => ({ ...asked, origin: 'http://localhost:1' })],
      ['for another relying party', (asked) => ({ ...asked, rpId: 'example' })],
      ['without verifying the person', (asked) => ({ ...asked, isVerified: false })],
    ])('when the passkey signed %s', async (_what, changed) => {
      const request = await open();
      const { asked, send } = await formFor('alice', request);
      expect((await send(keyOf('alice').get(changed(asked())))).status).toBe(403);
      expect([await statusOf(request), await votesOn(request)]).toEqual(['pending', []]);
      // The value that was given out is still good.
      expect((await send(keyOf('alice').get(asked()))).status).toBe(303);
    });

    it.each<[string, (answer: { id: string; response: Record<string, string> }) => unknown]>([
      ['has another signature', ({ response, ...rest }) => ({ ...rest, response: { ...response, signature: 'AAAA' } })],
      [
        'has another signature counter',
        ({ response, ...rest }) => {
          const data = Buffer.from(response['authenticatorData'] ?? '', 'base64url');
          data.writeUInt32BE(1_000, 33);
          return { ...rest, response: { ...response, authenticatorData: data.toString('base64url') } };
        },
      ],
      ['names a credential that is not registered', (answer) => ({ ...answer, id: 'AAAA' })],
      ['is no answer', () => ({})],
      ['is no JSON', () => undefined],
    ])('when the answer %s', async (_what, changed) => {
      const request = await open();
      const { asked, send } = await formFor('alice', request);
      const answer = JSON.stringify(changed(JSON.parse(keyOf('alice').get(asked())))) ?? 'no JSON';
      expect((await send(answer)).status).toBe(403);
      expect([await statusOf(request), await votesOn(request)]).toEqual(['pending', []]);
    });

    it('when the passkey is of another person', async () => {
      const request = await open();
      const { asked, send } = await formFor('alice', request);
      const answer = await send(keyOf('bob').get(asked()));
      expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('not registered for you')]);
      expect([await statusOf(request), await votesOn(request)]).toEqual(['pending', []]);
    });

    it('when another key signed in the name of a registered credential', async () => {
      const request = await open();
      const { asked, send } = await formFor('alice', request);
      const other = JSON.parse(new Authenticator().get(asked())) as object;
      expect((await send(JSON.stringify({ ...other, id: keyOf('alice').id }))).status).toBe(403);
      expect(await votesOn(request)).toEqual([]);
    });

    it('when the answer was made for a request with the same call', async () => {
      const [one, other] = [await open(), await open()];
      const [first, second] = [await formFor('alice', one), await formFor('alice', other)];
      const answer = keyOf('alice').get(first.asked());
      expect((await second.send(answer)).status).toBe(403);
      expect((await second.send(answer, { passkeyNonce: first.nonce })).status).toBe(403);
      expect([await statusOf(other), await votesOn(other)]).toEqual(['pending', []]);
      expect((await first.send(answer)).status).toBe(303);
    });

    it('when the page was used before, although the passkey signs the next stage', async () => {
      const request = await open('turns');
      const { asked, send, nonce } = await formFor('alice', request);
      const answer = keyOf('alice').get(asked());
      expect((await send(answer)).status).toBe(303);
      // The same message again changes nothing, and is told so.
      expect((await send(answer)).status).toBe(303);
      expect((await send(answer, { stage: '2' })).status).toBe(403);
      const challenge = challengeFor({ ...seen(request, nonce), stage: 2 });
      const used = await send(keyOf('alice').get({ ...asked(), challenge }), { stage: '2' });
      expect([used.status, await used.text()]).toEqual([409, expect.stringContaining('was used before')]);
      expect([await statusOf(request), (await votesOn(request)).length]).toEqual(['pending', 1]);
    });

    it('when the page is older than an hour, and the page for the new attempt works', async () => {
      const request = await open();
      const { asked, send, nonce } = await formFor('alice', request);
      await query(`UPDATE approvals.passkey_challenge SET expires_at = clock_timestamp() WHERE nonce = $1`, nonce);
      const late = await send(keyOf('alice').get(asked()));
      expect([late.status, await late.text()]).toEqual([409, expect.stringContaining('too old')]);
      expect(await votesOn(request)).toEqual([]);
      const again = await formFor('alice', request);
      expect((await again.send(keyOf('alice').get(again.asked()))).status).toBe(303);
    });

    it('when its counter did not grow, and the passkey is removed with an alarm', async () => {
      const copied = await registered(inboxOf('alice'));
      const first = await formFor('alice', await open());
      expect((await first.send(copied.get(first.asked()))).status).toBe(303);
      const request = await open();
      const { asked, send } = await formFor('alice', request);
      const answer = await send(copied.get({ ...asked(), counter: 1 }));
      expect([answer.status, await answer.text()]).toEqual([
        403,
        expect.stringContaining('There is a copy of this passkey'),
      ]);
      expect(service.log).toContain('"alarm":"passkey_copied"');
      const { rows } = await query('SELECT revoked_at, revoked_by FROM approvals.passkey WHERE id = $1', copied.id);
      expect(rows[0]).toEqual({ revoked_at: expect.any(Date), revoked_by: null });
      const again = await formFor('alice', request);
      expect((await again.send(copied.get({ ...again.asked(), counter: 9 }))).status).toBe(403);
      expect([await statusOf(request), await votesOn(request)]).toEqual(['pending', []]);
    });

    it('when the passkey was removed after the page was drawn', async () => {
      const lost = await registered(inboxOf('alice'));
      const request = await open();
      const { page, asked, send } = await formFor('alice', request);
      const { browser, origin } = inboxOf('alice');
      const csrfToken = /name="csrfToken" value="([^"]+)"/.exec(page)?.[1] ?? '';
      expect((await browser.go(`${origin}/passkeys/${lost.id}/revoke`, { csrfToken })).status).toBe(303);
      expect((await send(lost.get(asked()))).status).toBe(403);
      expect([await statusOf(request), await votesOn(request)]).toEqual(['pending', []]);
    });
  });
}
