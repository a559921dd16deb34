import { hkdfSync, randomUUID } from 'node:crypto';
import { EncryptJWT, jwtDecrypt, type JWTPayload } from 'jose';
import * as z from 'zod';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Redemption } from '../../../workflows/domain/ports.ts';
import { ownerKey, type Principal, type TaskOwner } from '../../../workflows/domain/principal.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Secrets } from '../../shared/config/secrets.ts';
import { sha256 } from '../../shared/crypto.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { ReadMethod } from '../../../workflows/domain/upstream-ports.ts';

/** The longest text that is opened. Ours are shorter, also with what an upstream put in them. */
const MAX_LENGTH = 200_000;
const SEALING = { alg: 'dir', enc: 'A256GCM' } as const;

const content = z.discriminatedUnion('kind', [
  /** A form of ours: the input that an access request needs. */
  z.object({
    kind: z.literal('form'),
    /** Of the form. */
    key: z.string(),
    /** Digest of the form: answers to another form do not count. */
    form: z.string(),
    /** From 1. */
    round: z.number().int().positive(),
    /** What was said in the rounds before. */
    given: z.custom<JsonObject>((value) => typeof value === 'object' && value !== null).optional(),
  }),
  /** What an upstream asks, with its own state, if it gave one. */
  z.object({ kind: z.literal('relayed_round'), state: z.string().optional() }),
  /** A task that an upstream opened, with its own id, and the public name of the tool that was called. */
  z.object({ kind: z.literal('relayed_task'), upstream: z.string(), upstreamTaskId: z.string(), tool: z.string() }),
]);
/** What a client keeps for us, without being able to read or to alter it. */
export type SealedContent = z.infer<typeof content>;

/** Binds a sealed state to one caller and one matter. For any other it does not open. */
export interface StateScope {
  readonly caller: Principal;
  readonly about: string;
}

export type OpenedState = SealedContent & Redemption;

/** The one seal of everything that clients bring back. */
export interface SealedStates {
  seal(of: SealedContent, scope: StateScope, lifetimeSeconds: number): Promise<string>;
  /** `undefined` for what was altered, made elsewhere, for another caller or another matter, and for what comes too late. */
  open(sealed: string, scope: StateScope): Promise<OpenedState | undefined>;
}

const claims = z.object({ sub: z.string(), aud: z.string(), jti: z.string().min(1), exp: z.number(), of: content });

/**
 * SealedStates are encrypted and authenticated, under a key that is derived from a sealing key for this alone: they go through hands
 * that may read, alter, copy and keep them. What kind one is stands inside, so that none can pass for another kind. Whose one is goes by
 * `owner`, as with a gated call.
 * @see SEP-2322, server requirements (MRTR-006 to MRTR-012)
 */
export function createSealedStates(sealingKeys: Secrets['sealingKeys'], clock: Clock, owner?: TaskOwner): SealedStates {
  /** Short, also for a long name of the caller: a task id goes into a header. */
  const subjectOf = (caller: Principal) => sha256(ownerKey(caller, owner));
  const keys = new Map(sealingKeys.map(({ kid, k }) => [kid, derivedFrom(k)]));
  const [current] = sealingKeys;

  return {
    async seal(of, { caller, about }, lifetimeSeconds) {
      const secret = keys.get(current?.kid ?? '');
      if (current === undefined || secret === undefined) {
        throw new CountersignError('ERR_CONFIG_INVALID', 'there is no sealing key');
      }
      return new EncryptJWT({ of })
        .setProtectedHeader({ ...SEALING, kid: current.kid })
        .setSubject(subjectOf(caller))
        .setAudience(about)
        .setJti(randomUUID())
        .setExpirationTime(Math.floor(clock.now() / 1_000) + lifetimeSeconds)
        .encrypt(secret);
    },

    async open(sealed, { caller, about }) {
      const { data: claimed } = claims.safeParse(await decrypt(sealed, keys, clock));
      if (claimed === undefined || claimed.sub !== subjectOf(caller) || claimed.aud !== about) return undefined;
      return { ...claimed.of, nonce: claimed.jti, expiresAt: new Date(claimed.exp * 1_000).toISOString() };
    },
  };
}

const derivedFrom = (k: string) =>
  new Uint8Array(hkdfSync('sha256', Buffer.from(k, 'base64url'), '', 'countersign handle', 32));

/** `undefined` when it cannot be opened. The sender is not told why. */
async function decrypt(
  sealed: string,
  keys: ReadonlyMap<string, Uint8Array>,
  clock: Clock,
): Promise<JWTPayload | undefined> {
  if (sealed.length > MAX_LENGTH) return undefined;
  const keyOf = ({ kid = '' }: { kid?: string }) => {
    const key = keys.get(kid);
    if (key === undefined) throw new Error('its key is not known');
    return key;
  };
  const sealedBy = { keyManagementAlgorithms: [SEALING.alg], contentEncryptionAlgorithms: [SEALING.enc] };
  const options = { ...sealedBy, currentDate: new Date(clock.now()) };
  try {
    return (await jwtDecrypt(sealed, keyOf, options)).payload;
  } catch {
    return undefined;
  }
}

/** How long a sealed task id leads to its task. An upstream that forgets the task earlier says so itself. */
export const TASK_LIFETIME_MS = 30 * 24 * 60 * 60 * 1_000;
/** How long a client has to answer. */
const ROUND_LIFETIME_SECONDS = 600;

/** One round of input: a form of ours, or what an upstream asks. */
export type Round = Extract<SealedContent, { kind: 'form' | 'relayed_round' }>;
/** A round that came back. */
export type OpenedRound = Extract<OpenedState, { kind: 'form' | 'relayed_round' }>;

/** Exactly this call of exactly this caller, and of a tool that is what it was. */
export const callScope = ({
  caller,
  upstream,
  callDigest,
  toolDigest,
}: Pick<CallBinding, 'caller' | 'upstream' | 'callDigest' | 'toolDigest'>): StateScope => ({
  caller,
  about: sha256(JSON.stringify(['tools/call', upstream, callDigest, toolDigest])),
});

/** Exactly this request of exactly this caller. Throws `ERR_ARGUMENTS_INVALID` for parameters that have no canonical form. */
export function readScope(
  caller: Principal,
  { upstream, method, params }: { upstream: string; method: ReadMethod; params: JsonObject },
): StateScope {
  const { _meta, ...salient } = params;
  try {
    return { caller, about: sha256(canonicalJson([method, upstream, salient])) };
  } catch (cause) {
    throw new CountersignError('ERR_ARGUMENTS_INVALID', 'the parameters have no canonical form', { cause });
  }
}

/** The state that goes out with a round. */
export const sealRound = (sealedStates: SealedStates, scope: StateScope, round: Round): Promise<string> =>
  sealedStates.seal(round, scope, ROUND_LIFETIME_SECONDS);

/** The round that a request comes back from, if it brings a state. Throws `ERR_REQUEST_STATE_INVALID` for a state of another request or caller. */
export async function openRound(
  sealedStates: SealedStates,
  scope: StateScope,
  state: string | undefined,
): Promise<OpenedRound | undefined> {
  if (state === undefined) return undefined;
  const opened = await sealedStates.open(state, scope);
  if (opened === undefined || opened.kind === 'relayed_task') {
    throw new CountersignError('ERR_REQUEST_STATE_INVALID', 'a request state is not for this request of this caller');
  }
  return opened;
}
