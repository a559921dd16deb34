import { describe, expect, it } from '@jest/globals';
import { createRecordSeals, createSeals } from '../../activities/stores/seals.ts';
import { sealingKey, sealingSecrets } from '../support/sealing-secrets.ts';

const DIGEST_KEY = 'a digest key that is for tests';
const seals = createSeals(sealingSecrets([sealingKey('now', 1), sealingKey('before', 2)], DIGEST_KEY));
const broken = expect.objectContaining({ code: 'ERR_SEAL_BROKEN', retryable: false }) as unknown as Error;

describe('sealed text', () => {
  it('opens for the same column of the same call, and shows nothing of the text', () => {
    const call = seals.forNewCall('one');
    const sealed = call.seal('call_binding.sealed_content', 'canary');
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('canary');
    expect(call.open('call_binding.sealed_content', sealed)).toBe('canary');
  });

  it('differs each time, also for the same text', () => {
    const call = seals.forNewCall('one');
    const texts = [1, 2, 3].map(() => call.seal('submission.sealed_body', 'text'));
    expect(new Set(texts).size).toBe(3);
  });

  it.each([0, 11, 12, 15, 16, -1])('does not open with a change in its byte %i', (at) => {
    const call = seals.forNewCall('one');
    const bytes = Buffer.from(call.seal('submission.sealed_body', 'text'), 'base64url');
    const index = at < 0 ? bytes.length + at : at;
    bytes[index] = (bytes[index] ?? 0) ^ 1;
    expect(() => call.open('submission.sealed_body', bytes.toString('base64url'))).toThrow(broken);
  });

  it('does not open in another column, generation or call', () => {
    const [one, other] = [seals.forNewCall('one'), seals.forNewCall('other')];
    const sealed = one.seal('submission.sealed_body', 'text', 2);
    expect(() => one.open('approval.sealed_body', sealed, 2)).toThrow(broken);
    expect(() => one.open('submission.sealed_handle', sealed, 2)).toThrow(broken);
    expect(() => one.open('submission.sealed_body', sealed, 1)).toThrow(broken);
    expect(() => other.open('submission.sealed_body', sealed, 2)).toThrow(broken);
    // Not even with the data keys of its own call.
    const disguised = seals.forCall('other', one.wrapped);
    expect(() => disguised.open('submission.sealed_body', sealed, 2)).toThrow(broken);
  });

  it.each(['', 'text', 'a.b.c.d.e', '{}'])('is not %j', (text) => {
    const call = seals.forNewCall('one');
    expect(() => call.open('submission.sealed_body', text)).toThrow(broken);
  });

  it('cannot be opened once its data key is destroyed; text for auditors still can', () => {
    const { wrapped, ...call } = seals.forNewCall('one');
    const content = call.seal('call_binding.sealed_content', 'content');
    const requester = call.seal('call_binding.sealed_requester', 'requester');
    const later = seals.forCall('one', { ...wrapped, call: null });
    expect(() => later.open('call_binding.sealed_content', content)).toThrow(broken);
    expect(later.open('call_binding.sealed_requester', requester)).toBe('requester');
  });
});

describe('the keys of the configuration', () => {
  const old = createSeals(sealingSecrets([sealingKey('before', 2)], DIGEST_KEY));

  it('open text that an earlier key sealed, and can be changed while it stays sealed', () => {
    const call = old.forNewCall('one');
    const sealed = call.seal('submission.sealed_body', 'text');
    expect(seals.forCall('one', call.wrapped).open('submission.sealed_body', sealed)).toBe('text');
    const again = seals.rewrap(call.wrapped);
    expect(seals.currentKeyId).toBe('now');
    const alone = createSeals(sealingSecrets([sealingKey('now', 1)], DIGEST_KEY));
    expect(alone.forCall('one', again).open('submission.sealed_body', sealed)).toBe('text');
    const missing = expect.objectContaining({
      ...{ code: 'ERR_SEALING_KEY_UNAVAILABLE', retryable: true, message: expect.stringContaining('"before"') },
    }) as unknown as Error;
    expect(() => alone.forCall('one', call.wrapped).open('submission.sealed_body', sealed)).toThrow(missing);
  });

  it('cannot be used in place of each other', () => {
    const call = old.forNewCall('one');
    const sealed = call.seal('submission.sealed_body', 'text');
    const impostor = createSeals(sealingSecrets([sealingKey('before', 3)], DIGEST_KEY));
    expect(() => impostor.forCall('one', call.wrapped).open('submission.sealed_body', sealed)).toThrow(broken);
  });
});

describe('the keys of records', () => {
  const secrets = sealingSecrets([sealingKey('now', 1), sealingKey('before', 2)], DIGEST_KEY);

  it('open the text that auditors may read, and no other text of a call', () => {
    const call = seals.forNewCall('one');
    const requester = call.seal('call_binding.sealed_requester', 'requester');
    const content = call.seal('call_binding.sealed_content', 'content');
    for (const column of ['call_binding.sealed_requester', 'call_binding.sealed_content'] as const) {
      for (const key of [call.wrapped.call, call.wrapped.record]) {
        const record = createRecordSeals(secrets).ofRecord('one', key ?? '');
        const isRequester = column === 'call_binding.sealed_requester' && key === call.wrapped.record;
        if (isRequester) expect(record.open(column, requester)).toBe('requester');
        else expect(() => record.open(column, column.endsWith('content') ? content : requester)).toThrow(broken);
      }
    }
  });

  it.each([
    ['another name', () => ({ recordSealingKeys: [sealingKey('now', 8), sealingKey('other', 9)] })],
    ['another order', (keys: typeof secrets) => ({ recordSealingKeys: keys.recordSealingKeys.toReversed() })],
    ['one key less', (keys: typeof secrets) => ({ recordSealingKeys: keys.recordSealingKeys.slice(1) })],
    ['a key of calls', () => ({ recordSealingKeys: [sealingKey('now', 2), sealingKey('before', 9)] })],
  ])('do not fit those of calls when they have %s', (_, change) => {
    const refused = expect.objectContaining({
      ...{ code: 'ERR_CONFIG_INVALID', message: expect.stringContaining('COUNTERSIGN_RECORD_SEALING_KEYS') },
    }) as unknown as Error;
    expect(() => createSeals({ ...secrets, ...change(secrets) })).toThrow(refused);
  });
});

describe('a keyed digest', () => {
  it('is equal only for equal texts under the same key', () => {
    expect(seals.digest('text')).toMatch(/^hmac-sha-256:[0-9a-f]{64}$/);
    expect(seals.digest('text')).toBe(seals.digest('text'));
    expect(seals.digest('text')).not.toBe(seals.digest('texts'));
    const others = createSeals(sealingSecrets([sealingKey('now', 1)], 'another key of some length'));
    expect(others.digest('text')).not.toBe(seals.digest('text'));
  });
});
