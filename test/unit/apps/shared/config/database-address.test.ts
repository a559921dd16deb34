import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Client } from 'pg';
import { readEnvironment } from '../../../../../apps/shared/config/env.ts';
import { times } from '../../../../support/regime.ts';

const addressWith = (password: string) => `postgresql://countersign:${password}@postgres:5432/countersign`;
const read = (address: string) => readEnvironment({ DATABASE_URL: address }).databaseUrl;

describe('DATABASE_URL', () => {
  it('leads to its host with its password, or is refused by name, for any base64 password', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const password = Buffer.from(bytes).toString('base64');
        let address: string | undefined;
        try {
          address = read(addressWith(password));
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_CONFIG_INVALID', message: expect.stringMatching(/^DATABASE_URL /) });
          expect((error as Error).message).not.toContain(password);
          return;
        }
        expect(new Client({ connectionString: address })).toMatchObject({
          host: 'postgres',
          port: 5432,
          password,
          database: 'countersign',
        });
      }),
      { numRuns: times(300, 20_000) },
    );
  });

  it.each(['ab/cd', '12/34', 'ab#cd', '12#34', 'ab?cd', '12?34', '%zz', '100%'])(
    'with the password %s is refused, with the next step',
    (password) => {
      expect(() => read(addressWith(password))).toThrow(/DATABASE_URL .*percent codes.*openssl rand -hex 32/);
    },
  );

  it.each(['not an address', 'mysql://user:password@host/db', 'host=db user=me'])('%s is refused', (address) => {
    expect(() => read(address)).toThrow(/DATABASE_URL is not a valid address/);
  });

  it.each([
    addressWith(randomBytes(32).toString('hex')),
    addressWith('ab%2Fcd'),
    'postgres://user@host/db?sslmode=require',
    'postgresql:///db?host=/var/run/postgresql',
  ])('%s is accepted unchanged', (address) => {
    expect(read(address)).toBe(address);
  });
});
