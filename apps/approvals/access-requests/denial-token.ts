import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { KEYS_UNREACHABLE, SIGNING_ALGORITHMS } from '../../shared/auth/signing-key.ts';
import { Problem } from './problem.ts';
import type { Submission } from './submission.ts';

/** How far the clocks of PDP and access request service may be apart (PRJ-13). */
const SKEW_MS = 30_000;
const claimsSchema = z.looseObject({
  jti: z.string().min(1),
  exp: z.number(),
  iat: z.number().optional(),
  evaluation_id: z.string().optional(),
  denial_expires_at: z.iso.datetime({ offset: true }).optional(),
  requester: z.string().optional(),
  template: z.string().optional(),
  reason: z.string().optional(),
  policies: z.array(z.string()).default([]),
  display: z.looseObject({ title: z.string().optional(), description: z.string().optional() }).optional(),
  binding_context_members: z.array(z.string()).default([]),
  binding_hash: z.string().optional(),
  subject: z.unknown().optional(),
  resource: z.unknown().optional(),
  action: z.unknown().optional(),
  items: z.unknown().optional(),
  context: z.unknown().optional(),
});
/** What a denial says in its binding token. */
export type Claims = z.infer<typeof claimsSchema>;

export interface DenialTrust {
  /** PDP identifier → its keys. No other issuer is listened to (PRJ-06). */
  readonly issuers: ReadonlyMap<string, JWTVerifyGetKey>;
  /** Our submission URL: a token made for another service is refused. */
  readonly audience: string;
  /**
   * The binding token of a denial that is only named by its evaluation, as the PDP has it on record. Undefined when it
   * has none. Throws a `Problem`.
   */
  readonly recorded: (evaluationId: string) => Promise<string | undefined>;
  readonly now: () => number;
}

/** What the denial says, by the word of the PDP, and the evaluation that it came from. Its age is judged later. */
export async function verifySigned(denial: Submission['denial'], trust: DenialTrust) {
  const token = denial.binding_token ?? (await tokenOnRecord(denial.evaluation_id, trust));
  const claims = claimsSchema.safeParse(await verifyToken(token, trust)).data;
  if (claims === undefined) throw invalid('the token says too little');
  if (claims.iat !== undefined && claims.iat * 1_000 > trust.now() + SKEW_MS)
    throw invalid('the token is from the future');
  const evaluationId = claims.evaluation_id ?? denial.evaluation_id;
  if (evaluationId === undefined || (denial.evaluation_id ?? evaluationId) !== evaluationId) {
    throw invalid('denial.evaluation_id is not the one of the token');
  }
  return { claims, evaluationId };
}

const questionSchema = z.looseObject({
  subject: z.looseObject({ type: z.string(), id: z.string() }),
  action: z.looseObject({ name: z.string() }),
  resource: z.looseObject({ type: z.string(), id: z.string() }),
});

/**
 * What was asked and denied in this evaluation, as the PDP has it on record, and whom the denial was given to: what somebody may see
 * who could submit a request for it, and does not yet. Throws a `Problem`, as for a submission.
 */
export async function recallDenial(evaluationId: string, trust: DenialTrust) {
  const payload = await verifyToken(await tokenOnRecord(evaluationId, trust), trust);
  const claims = claimsSchema.safeParse(payload).data;
  const question = questionSchema.safeParse(payload).data;
  if (claims === undefined || question === undefined) throw invalid('the token does not say who asked for what');
  if (claims.evaluation_id !== evaluationId) throw invalid('what is on record is of another evaluation');
  checkFreshness(undefined, claims, trust.now());
  const { subject, action, resource } = question as Pick<EvaluationRequest, 'subject' | 'action' | 'resource'>;
  return { subject, action, resource, template: claims.template, requester: claims.requester };
}

async function tokenOnRecord(evaluationId: string | undefined, { recorded }: DenialTrust): Promise<string> {
  if (evaluationId === undefined) throw invalid('denial has neither binding_token nor evaluation_id');
  const token = await recorded(evaluationId);
  if (token === undefined) throw invalid('denial.binding_token is missing, and the evaluation is not on record');
  return token;
}

async function verifyToken(token: string, { issuers, audience, now }: DenialTrust): Promise<JWTPayload> {
  const issuer = issuerOf(token) ?? '';
  const keys = issuers.get(issuer);
  if (keys === undefined) throw invalid('the token is from an issuer that is not trusted here');
  const options = {
    algorithms: [...SIGNING_ALGORITHMS],
    audience,
    issuer,
    clockTolerance: SKEW_MS / 1_000,
    currentDate: new Date(now()),
  };
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    // Everything but its age is in order; the age is judged last, after the binding.
    if (error instanceof errors.JWTExpired) return error.payload;
    if (error instanceof errors.JOSEError && !KEYS_UNREACHABLE.has(error.code)) throw invalid('the token is not valid');
    throw new Problem(503, 'the keys of the policy decision point cannot be read');
  }
}

/** Whose token it says it is. Without the name of a key it is nobody's: a set of one key would stand for any (ARAP-BND-01). */
function issuerOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).kid === undefined ? undefined : decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** The earliest of all deadlines holds; an echoed one has to be the one that was signed (ARAP-BND-15 to 17). */
export function checkFreshness(denial: Submission['denial'] | undefined, claims: Claims, now: number): void {
  // What the PDP has on record is what holds; the echo of it came through the enforcement point (ARAP-BND-19).
  const echoed = denial?.binding_token === undefined ? undefined : denial.expires_at;
  const exp = claims.exp * 1_000;
  const signed = claims.denial_expires_at === undefined ? undefined : Date.parse(claims.denial_expires_at);
  const echo = echoed === undefined ? (signed ?? exp) : Date.parse(echoed);
  if (signed === undefined ? exp > echo : signed !== echo) {
    throw invalid('denial.expires_at is not the one of the denial');
  }
  if (Math.min(echo, exp) + SKEW_MS <= now) throw new Problem('expired_denial', 'evaluate again for a fresh denial');
}

export const invalid = (detail: string) => new Problem('invalid_denial_binding', detail);
