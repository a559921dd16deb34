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

/** The longest text that is opened. The gateway's own are shorter, even with the state of an upstream in them. */
const MAX_LENGTH = 200_000;
const SEALING = { alg: 'dir', enc: 'A256GCM' } as const;

const content = z.discriminatedUnion('kind', [
  /** The gateway's own form, for the input that an access request needs. */
  z.object({
    kind: z.literal('form'),
    key: z.string(),
    /** Digest of the form: answers to another form do not count. */
    form: z.string(),
    /** From 1. */
    round: z.number().int().positive(),
    /** The answers of earlier rounds. */
    given: z.custom<JsonObject>((value) => typeof value === 'object' && value !== null).optional(),
  }),
  /** An upstream's question, with the upstream's own state, if it gave one. */
  z.object({ kind: z.literal('relayed_round'), state: z.string().optional() }),
  /** The page of a held call of the gateway, which the client was asked to open. */
  z.object({ kind: z.literal('approval_page'), taskId: z.string() }),
  /** A task that an upstream opened, with the upstream's id and the public name of the tool. */
  z.object({ kind: z.literal('relayed_task'), upstream: z.string(), upstreamTaskId: z.string(), tool: z.string() }),
  /** A session of a client of an earlier revision, with what the client declared. */
  z.object({
    kind: z.literal('session'),
    revision: z.string(),
    client: z.object({ name: z.string(), version: z.string() }),
    capabilities: z.custom<JsonObject>((value) => typeof value === 'object' && value !== null),
    showsCards: z.literal(true).optional(),
    changesRoots: z.literal(true).optional(),
  }),
]);
/** The content that a client keeps for the gateway, without being able to read or change it. */
export type SealedContent = z.infer<typeof content>;

/** Binds a sealed state to one caller and one subject matter. It does not open for any other. */
export interface StateScope {
  readonly caller: Principal;
  readonly about: string;
}

export type OpenedState = SealedContent & Redemption;

/** Seals everything that clients send back. */
export type SealedStates = ReturnType<typeof createSealedStates>;

const claims = z.object({ sub: z.string(), aud: z.string(), jti: z.string().min(1), exp: z.number(), of: content });

/**
 * Sealed states are encrypted and authenticated, because clients may read, alter, copy and keep them. The key is derived from a sealing key
 * for this use alone. The kind is inside, so that one kind cannot pass for another. `owner` says who owns one, as for a gated call.
 * @see SEP-2322, server requirements (MRTR-006 to MRTR-012)
 */
export function createSealedStates(sealingKeys: Secrets['sealingKeys'], clock: Clock, owner?: TaskOwner) {
  /** Short, even if the caller's name is long: a task id goes into a header. */
  const subjectOf = (caller: Principal) => sha256(ownerKey(caller, owner));
  const keys = new Map(sealingKeys.map(({ kid, k }) => [kid, derivedFrom(k)]));
  const [current] = sealingKeys;

  return {
    async seal(of: SealedContent, { caller, about }: StateScope, lifetimeSeconds: number): Promise<string> {
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

    /** `undefined` if the state was altered, made elsewhere or for another scope, or has expired. */
    async open(sealed: string, { caller, about }: StateScope): Promise<OpenedState | undefined> {
      const { data: claimed } = claims.safeParse(await decrypt(sealed, keys, clock));
      if (claimed === undefined || claimed.sub !== subjectOf(caller) || claimed.aud !== about) return undefined;
      return { ...claimed.of, nonce: claimed.jti, expiresAt: new Date(claimed.exp * 1_000).toISOString() };
    },
  };
}

const derivedFrom = (k: string) =>
  new Uint8Array(hkdfSync('sha256', Buffer.from(k, 'base64url'), '', 'countersign handle', 32));

/** `undefined` if it cannot be opened. The sender does not learn why. */
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

/** How long a sealed task id is valid. An upstream that forgets the task earlier reports that itself. */
export const TASK_LIFETIME_MS = 30 * 24 * 60 * 60 * 1_000;
/** How long a client has to answer. */
const ROUND_LIFETIME_SECONDS = 600;

/** One round of input: the gateway's own form, or an upstream's question. */
export type Round = Extract<SealedContent, { kind: 'form' | 'relayed_round' }>;
/** A round that came back. */
export type OpenedRound = Extract<OpenedState, { kind: 'form' | 'relayed_round' }>;
/** A held call whose page the client was asked to open. */
export type OpenedPage = Extract<OpenedState, { kind: 'approval_page' }>;

/** Exactly this call of exactly this caller, of a tool with an unchanged description. */
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

export const sealRound = (sealedStates: SealedStates, scope: StateScope, round: Round): Promise<string> =>
  sealedStates.seal(round, scope, ROUND_LIFETIME_SECONDS);

/** What a request comes back from. Throws `ERR_REQUEST_STATE_INVALID` for a state of another request or caller. */
export async function openRound(
  sealedStates: SealedStates,
  scope: StateScope,
  state: string | undefined,
): Promise<OpenedRound | OpenedPage | undefined> {
  if (state === undefined) return undefined;
  const opened = await sealedStates.open(state, scope);
  if (opened === undefined || opened.kind === 'relayed_task' || opened.kind === 'session') {
    throw new CountersignError('ERR_REQUEST_STATE_INVALID', 'a request state is not for this request of this caller');
  }
  return opened;
}
