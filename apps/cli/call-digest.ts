import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../shared/config/config.ts';
import { loadDevelopmentSecrets } from '../shared/config/development-secrets.ts';
import type { Io } from './io.ts';
import { CliError } from './output.ts';

const KEYED = /^hmac-sha-256:[0-9a-f]{64}$/;
const PLAIN = /^(?:sha-256:)?([0-9a-f]{64})$/;

/**
 * The digest by which records name a call, of that or of the plain one that whoever has the arguments can compute; undefined for a text
 * that is neither. The audit service takes keyed digests only: plain ones could be tried one after the other, until a short
 * secret among the arguments is found. So the digest key is needed here, which auditors do not have. Throws where it is not.
 */
export async function callDigestOf(io: Io, config: Config, text: string): Promise<string | undefined> {
  if (KEYED.test(text)) return text;
  const hex = PLAIN.exec(text)?.[1];
  if (hex === undefined) return undefined;
  const key = await digestKey(io, config);
  return `hmac-sha-256:${createHmac('sha256', key).update(`sha-256:${hex}`).digest('hex')}`;
}

async function digestKey(io: Io, { mode, stateDir }: Config): Promise<string> {
  const given = io.environment.variables['COUNTERSIGN_DIGEST_KEY'];
  if (given !== undefined) return given;
  if (mode === 'development' && existsSync(join(stateDir, 'secrets.json'))) {
    return (await loadDevelopmentSecrets(stateDir)).secrets.digestKey;
  }
  throw new CliError(
    'records name calls by a keyed digest (hmac-sha-256:…), which the record shows. To find one by a plain digest, ask an operator to ' +
      'run this with COUNTERSIGN_DIGEST_KEY',
  );
}
