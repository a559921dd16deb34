import { describe, expect, it } from '@jest/globals';
import { DatabaseError } from 'pg';
import { asUnavailable, CountersignError } from '../../../workflows/domain/errors.ts';

const AWAY = { code: 'ERR_DATABASE_UNAVAILABLE' };
/** An answer of the server, as `pg` makes it from the wire. */
const answer = (code: string, message = 'no') =>
  Object.assign(new DatabaseError(message, 0, 'error'), { severity: 'ERROR', code });
const ofNetwork = (code: string) => Object.assign(new Error(`connect ${code}`), { code });

describe('trouble with the database', () => {
  it.each([
    ...['08006', '40001', '40P01', '53100', '53300', '55P03', '57014', '57P01', '57P03', '58030', '25006'].map((code) =>
      answer(code),
    ),
    answer('0A000', 'cached plan must not change result type'),
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'].map(ofNetwork),
    new Error('Connection terminated unexpectedly'),
    'thrown without an error',
  ])('is temporary, and has one name: %s', (thrown) => {
    const unavailable = asUnavailable(thrown);
    expect(unavailable).toMatchObject(AWAY);
    if (thrown instanceof Error) expect(unavailable.cause).toBe(thrown);
  });

  it.each([
    ...['22P02', '23505', '42P01', '42501', 'P0001', '0A000', 'XX000'].map((code) => answer(code)),
    new TypeError('x is not a function'),
    new RangeError('Invalid array length'),
  ])('keeps its error when it is not temporary: %s', (thrown) => expect(asUnavailable(thrown)).toBe(thrown));

  it('that has a name already keeps it', () => {
    for (const code of ['ERR_DATABASE_UNAVAILABLE', 'ERR_SEAL_BROKEN'] as const) {
      const named = new CountersignError(code, 'the database cannot be used: it only reads');
      expect(asUnavailable(named)).toBe(named);
    }
  });
});
