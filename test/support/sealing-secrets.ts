import type { SealingSecrets } from '../../activities/stores/seals.ts';
import type { Secrets } from '../../apps/shared/config/secrets.ts';

type Key = Secrets['sealingKeys'][number];

/** A sealing key whose 32 bytes are all the same. */
export const sealingKey = (kid: string, byte: number): Key => ({
  kty: 'oct',
  kid,
  k: Buffer.alloc(32, byte).toString('base64url'),
});

/** The secrets of an enforcement side with these keys: those of records have the same names, and other bytes. */
export function sealingSecrets(sealingKeys: readonly Key[], digestKey: string) {
  const inverted = (k: string) => Buffer.from(Buffer.from(k, 'base64url').map((byte) => byte ^ 255));
  return {
    sealingKeys: [...sealingKeys],
    recordSealingKeys: sealingKeys.map((key) => ({ ...key, k: inverted(key.k).toString('base64url') })),
    digestKey,
  } satisfies SealingSecrets;
}
