import { hkdfSync, randomUUID } from 'node:crypto';
import { EncryptJWT, jwtDecrypt, type JWTPayload } from 'jose';
import * as z from 'zod';
import { type JsonObject, canonicalJson } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Redemption } from '../../../workflows/domain/ports.ts';
import { ownerKey, type Principal, type TaskOwner } from '../../../workflows/domain/principal.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Secrets } from '../../shared/config/secrets.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import type { ReadMethod } from '../../../workflows/domain/upstream-ports.ts';

/** The longest text that is opened. Ours are shorter, whatever an upstream may have in them. */
const MAX_LENGTH = 200_000;
const SEALING = { alg: 'dir', enc: 'A256GCM' } as const;

const content = z.discriminatedUnion('kind', [
  /** A round of questions of ours: what an access request needs. */
  z.object({
    kind: z.literal('question'),
    /** Of the question. */
    key: z.string(),
    /** Digest of the form: answers to another one are none to this. */
    form: z.string(),
    /** From 1. */
    round: z.number().int().positive(),
    /** What was said in the rounds before. */
    given: z.custom<JsonObject>((value) => typeof value === 'object' && value !== null).optional(),
  }),
  /** A round of questions that an upstream asks, with its own state, if it gave one. */
  z.object({ kind: z.literal('relayed_round'), state: z.string().optional() }),
  /** A task that an upstream opened, with its own id, and the public name of the tool that was called. */
  z.object({ kind: z.literal('relayed_task'), upstream: z.string(), upstreamTaskId: z.string(), tool: z.string() }),
]);
/** What a client keeps for us, without being able to read or to alter it. */
export type HandleContent = z.infer<typeof content>;

/** Whose a handle is and what about. For whatever else it is none. */
export interface HandleScope {
  readonly caller: Principal;
  readonly about: string;
}

export type OpenedHandle = HandleContent & Redemption;

/** The one seal of everything that clients bring back. */
export interface Handles {
  seal(of: HandleContent, scope: HandleScope, lifetimeSeconds: number): Promise<string>;
  /** `undefined` for what was altered, made elsewhere, for another caller or another matter, and for what comes too late. */
  open(handle: string, scope: HandleScope): Promise<OpenedHandle | undefined>;
}

const claims = z.object({ sub: z.string(), aud: z.string(), jti: z.string().min(1), exp: z.number(), of: content });

/**
 * Handles are encrypted and authenticated, under a key that is derived from a sealing key for this alone: they go through hands
 * that may read, alter, copy and keep them. What kind one is stands inside, so that none can pass for another kind. Whose one is goes by
 * `owner`, as with a gated call.
 * @see SEP-2322, server requirements (MRTR-006 to MRTR-012)
 */
export function createHandles(sealingKeys: Secrets['sealingKeys'], clock: Clock, owner?: TaskOwner): Handles {
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

    async open(handle, { caller, about }) {
      const { data: claimed } = claims.safeParse(await decrypt(handle, keys, clock));
      if (claimed === undefined || claimed.sub !== subjectOf(caller) || claimed.aud !== about) return undefined;
      return { ...claimed.of, nonce: claimed.jti, expiresAt: new Date(claimed.exp * 1_000).toISOString() };
    },
  };
}

const derivedFrom = (k: string) =>
  new Uint8Array(hkdfSync('sha256', Buffer.from(k, 'base64url'), '', 'countersign handle', 32));

/** `undefined` when it cannot be opened, for whatever reason: who sent it is told no more. */
async function decrypt(
  handle: string,
  keys: ReadonlyMap<string, Uint8Array>,
  clock: Clock,
): Promise<JWTPayload | undefined> {
  if (handle.length > MAX_LENGTH) return undefined;
  const keyOf = ({ kid = '' }: { kid?: string }) => {
    const key = keys.get(kid);
    if (key === undefined) throw new Error('its key is not known');
    return key;
  };
  const sealedBy = { keyManagementAlgorithms: [SEALING.alg], contentEncryptionAlgorithms: [SEALING.enc] };
  const options = { ...sealedBy, currentDate: new Date(clock.now()) };
  try {
    return (await jwtDecrypt(handle, keyOf, options)).payload;
  } catch {
    return undefined;
  }
}

/** How long a handle leads to its task. An upstream that forgets it earlier says so itself. */
export const TASK_LIFETIME_MS = 30 * 24 * 60 * 60 * 1_000;
/** How long somebody has to answer. */
const LIFETIME_SECONDS = 600;

/** One round of questions, whoever asks. */
export type Round = Extract<HandleContent, { kind: 'question' | 'relayed_round' }>;
/** A round that came back. */
export type OpenedRound = Extract<OpenedHandle, { kind: 'question' | 'relayed_round' }>;

/** Exactly this call of exactly this caller, and of a tool that is what it was. */
export const callScope = ({
  caller,
  upstream,
  callDigest,
  toolDigest,
}: Pick<CallBinding, 'caller' | 'upstream' | 'callDigest' | 'toolDigest'>): HandleScope => ({
  caller,
  about: sha256(JSON.stringify(['tools/call', upstream, callDigest, toolDigest])),
});

/** Exactly this request of exactly this caller. Throws `ERR_ARGUMENTS_INVALID` for parameters that have no canonical form. */
export function readScope(
  caller: Principal,
  { upstream, method, params }: { upstream: string; method: ReadMethod; params: JsonObject },
): HandleScope {
  const { _meta, ...salient } = params;
  try {
    return { caller, about: sha256(canonicalJson([method, upstream, salient])) };
  } catch (cause) {
    throw new CountersignError('ERR_ARGUMENTS_INVALID', 'the parameters have no canonical form', { cause });
  }
}

/** The state that goes out with a question. */
export const sealRound = (handles: Handles, scope: HandleScope, round: Round): Promise<string> =>
  handles.seal(round, scope, LIFETIME_SECONDS);

/** The round that a request comes back from, if it says so. Throws `ERR_REQUEST_STATE_INVALID` for a state that is none of it. */
export async function openRound(
  handles: Handles,
  scope: HandleScope,
  state: string | undefined,
): Promise<OpenedRound | undefined> {
  if (state === undefined) return undefined;
  const opened = await handles.open(state, scope);
  if (opened === undefined || opened.kind === 'relayed_task') {
    throw new CountersignError('ERR_REQUEST_STATE_INVALID', 'a request state is not for this request of this caller');
  }
  return opened;
}
