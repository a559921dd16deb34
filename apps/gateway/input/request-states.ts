import { hkdfSync, randomUUID } from 'node:crypto';
import { EncryptJWT, jwtDecrypt, type JWTPayload } from 'jose';
import * as z from 'zod';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { Redemption } from '../../../workflows/domain/ports.ts';
import { ownerKey } from '../../../workflows/domain/principal.ts';
import type { Secrets } from '../../shared/config/secrets.ts';

/** How long somebody has to answer. */
const LIFETIME_SECONDS = 600;
/** Ours are far shorter. */
const MAX_LENGTH = 8_192;
/** The one method whose calls are asked about. */
const METHOD = 'tools/call';
const SEALING = { alg: 'dir', enc: 'A256GCM' } as const;

/** One round of questions about a call. */
export interface AskedRound {
  /** Of the question. */
  readonly key: string;
  /** Digest of the form: answers to another one are none to this. */
  readonly form: string;
  /** From 1. */
  readonly round: number;
}

type BoundCall = Pick<CallBinding, 'caller' | 'callDigest' | 'toolDigest'>;

/** What the client keeps between a question and its answer. */
export interface RequestStates {
  seal(call: BoundCall, asked: AskedRound): Promise<string>;
  /**
   * What was asked about exactly this call of exactly this caller. Throws `ERR_REQUEST_STATE_INVALID` for whatever else:
   * altered, made elsewhere, for another call or caller, for a tool that has changed, or too late.
   */
  open(state: string, call: BoundCall): Promise<AskedRound & Redemption>;
}

const claims = z.object({
  sub: z.string(),
  aud: z.literal(METHOD),
  jti: z.string().min(1),
  exp: z.number(),
  call: z.string(),
  tool: z.string(),
  key: z.string(),
  form: z.string(),
  round: z.number().int().positive(),
});

/**
 * States are encrypted and authenticated, under a key that is derived from a sealing key for this alone: they go through hands
 * that may read, alter, copy and keep them. @see SEP-2322, server requirements (MRTR-006 to MRTR-012)
 */
export function createRequestStates(sealingKeys: Secrets['sealingKeys']): RequestStates {
  const keys = new Map(sealingKeys.map(({ kid, k }) => [kid, derivedFrom(k)]));
  const [current] = sealingKeys;

  return {
    async seal({ caller, callDigest, toolDigest }, { key, form, round }) {
      const secret = keys.get(current?.kid ?? '');
      if (current === undefined || secret === undefined) {
        throw new CountersignError('ERR_CONFIG_INVALID', 'there is no sealing key');
      }
      return new EncryptJWT({ call: callDigest, tool: toolDigest, key, form, round })
        .setProtectedHeader({ ...SEALING, kid: current.kid })
        .setSubject(ownerKey(caller))
        .setAudience(METHOD)
        .setJti(randomUUID())
        .setExpirationTime(`${LIFETIME_SECONDS} s`)
        .encrypt(secret);
    },

    async open(state, { caller, callDigest, toolDigest }) {
      const { data: claimed } = claims.safeParse(await decrypt(state, keys));
      const isOfCall = claimed?.sub === ownerKey(caller) && claimed.call === callDigest && claimed.tool === toolDigest;
      if (!isOfCall) throw invalid('it is not for this call of this caller');
      const { key, form, round, jti: nonce, exp } = claimed;
      return { key, form, round, nonce, expiresAt: new Date(exp * 1_000).toISOString() };
    },
  };
}

const derivedFrom = (k: string) =>
  new Uint8Array(hkdfSync('sha256', Buffer.from(k, 'base64url'), '', 'countersign request state', 32));

async function decrypt(state: string, keys: ReadonlyMap<string, Uint8Array>): Promise<JWTPayload> {
  if (state.length > MAX_LENGTH) throw invalid('it is too long');
  const keyOf = ({ kid = '' }: { kid?: string }) => {
    const key = keys.get(kid);
    if (key === undefined) throw invalid('its key is not known');
    return key;
  };
  const options = { keyManagementAlgorithms: [SEALING.alg], contentEncryptionAlgorithms: [SEALING.enc] };
  try {
    return (await jwtDecrypt(state, keyOf, options)).payload;
  } catch (cause) {
    if (cause instanceof CountersignError) throw cause;
    throw invalid('it cannot be opened', cause);
  }
}

function invalid(why: string, cause?: unknown): CountersignError {
  return new CountersignError('ERR_REQUEST_STATE_INVALID', `a request state is refused: ${why}`, { cause });
}
