import { describe, expect, it } from '@jest/globals';
import { createSeals } from '../../activities/stores/seals.ts';

const key = (kid: string, byte: number) => ({ kid, k: Buffer.alloc(32, byte).toString('base64url') });
const DIGEST_KEY = 'a digest key that is for tests';
const seals = createSeals({ keys: [key('now', 1), key('before', 2)], digestKey: DIGEST_KEY });
const BROKEN = { code: 'ERR_SEAL_BROKEN', retryable: false };

describe('what is sealed', () => {
  it('opens for the same column of the same call, and shows nothing of the text', async () => {
    const call = await seals.forNewCall('one');
    const sealed = await call.seal('call_binding.sealed_content', 'canary');
    expect(Buffer.from(sealed.split('.')[3] ?? '', 'base64url').toString('latin1')).not.toContain('canary');
    expect(await call.open('call_binding.sealed_content', sealed)).toBe('canary');
  });

  it('is different each time, also for the same text', async () => {
    const call = await seals.forNewCall('one');
    const texts = await Promise.all([1, 2, 3].map(() => call.seal('submission.sealed_body', 'text')));
    expect(new Set(texts.map((text) => text.split('.')[2])).size).toBe(3);
  });

  it.each([0, 2, 3, 4])('does not open with a change in its part %i', async (part) => {
    const call = await seals.forNewCall('one');
    const parts = (await call.seal('submission.sealed_body', 'text')).split('.');
    const bytes = Buffer.from(parts[part] ?? '', 'base64url');
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    parts[part] = bytes.toString('base64url');
    await expect(call.open('submission.sealed_body', parts.join('.'))).rejects.toMatchObject(BROKEN);
  });

  it('does not open in another column, generation or call', async () => {
    const [one, other] = [await seals.forNewCall('one'), await seals.forNewCall('other')];
    const sealed = await one.seal('submission.sealed_body', 'text', 2);
    await expect(one.open('approval.sealed_body', sealed, 2)).rejects.toMatchObject(BROKEN);
    await expect(one.open('submission.sealed_handle', sealed, 2)).rejects.toMatchObject(BROKEN);
    await expect(one.open('submission.sealed_body', sealed, 1)).rejects.toMatchObject(BROKEN);
    await expect(other.open('submission.sealed_body', sealed, 2)).rejects.toMatchObject(BROKEN);
    // Not even with the data keys of the call that it is of.
    const disguised = seals.forCall('other', one.wrapped);
    await expect(disguised.open('submission.sealed_body', sealed, 2)).rejects.toMatchObject(BROKEN);
  });

  it.each(['', 'text', 'a.b.c.d.e', '{}'])('is not %j', async (text) => {
    const call = await seals.forNewCall('one');
    await expect(call.open('submission.sealed_body', text)).rejects.toMatchObject(BROKEN);
  });

  it('cannot be opened once its data key is destroyed; what is for auditors still can', async () => {
    const { wrapped, ...call } = await seals.forNewCall('one');
    const content = await call.seal('call_binding.sealed_content', 'content');
    const requester = await call.seal('call_binding.sealed_requester', 'requester');
    const later = seals.forCall('one', { ...wrapped, call: null });
    await expect(later.open('call_binding.sealed_content', content)).rejects.toMatchObject(BROKEN);
    expect(await later.open('call_binding.sealed_requester', requester)).toBe('requester');
  });
});

describe('the keys of the configuration', () => {
  const old = createSeals({ keys: [key('before', 2)], digestKey: DIGEST_KEY });

  it('open what an earlier one sealed, and can be changed under what is sealed', async () => {
    const call = await old.forNewCall('one');
    const sealed = await call.seal('submission.sealed_body', 'text');
    expect(await seals.forCall('one', call.wrapped).open('submission.sealed_body', sealed)).toBe('text');
    const again = await seals.rewrap(call.wrapped);
    expect(seals.currentKeyId).toBe('now');
    const alone = createSeals({ keys: [key('now', 1)], digestKey: DIGEST_KEY });
    expect(await alone.forCall('one', again).open('submission.sealed_body', sealed)).toBe('text');
    await expect(alone.forCall('one', call.wrapped).open('submission.sealed_body', sealed)).rejects.toThrow('"before"');
  });

  it('cannot be taken for one another', async () => {
    const call = await old.forNewCall('one');
    const sealed = await call.seal('submission.sealed_body', 'text');
    const impostor = createSeals({ keys: [key('before', 3)], digestKey: DIGEST_KEY });
    const opening = impostor.forCall('one', call.wrapped).open('submission.sealed_body', sealed);
    await expect(opening).rejects.toMatchObject(BROKEN);
  });
});

describe('a keyed digest', () => {
  it('is equal for equal texts under the same key only', () => {
    expect(seals.digest('text')).toMatch(/^hmac-sha-256:[0-9a-f]{64}$/);
    expect(seals.digest('text')).toBe(seals.digest('text'));
    expect(seals.digest('text')).not.toBe(seals.digest('texts'));
    const others = createSeals({ keys: [key('now', 1)], digestKey: 'another key of some length' });
    expect(others.digest('text')).not.toBe(seals.digest('text'));
  });
});
