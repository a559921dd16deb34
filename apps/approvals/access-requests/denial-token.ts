import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { KEYS_UNREACHABLE, SIGNING_ALGORITHMS } from '../../shared/auth/signing-key.ts';
import { ApiProblem } from './problem.ts';
import type { Submission } from './submission.ts';

/** The accepted clock difference between the PDP and this service (PRJ-13). */
const SKEW_MS = 30_000;
const claimsSchema = z.looseObject({
  jti: z.string().min(1),
  exp: z.number(),
  iat: z.number().optional(),
  evaluation_id: z.string().optional(),
  denial_expires_at: z.iso.datetime({ offset: true }).optional(),
  requester: z.string().optional(),
  template: z.string().optional(),
  listed_templates: z.array(z.string()).default([]),
  reason: z.string().optional(),
  policies: z.array(z.string()).default([]),
  // Unreadable bounds allow no grant.
  grantable: z
    .object({ seconds: z.int32().min(1), uses: z.int32().min(1) })
    .optional()
    .catch(undefined),
  display: z.looseObject({ title: z.string().optional(), description: z.string().optional() }).optional(),
  binding_context_members: z.array(z.string()).default([]),
  binding_hash: z.string().optional(),
  subject: z.unknown().optional(),
  resource: z.unknown().optional(),
  action: z.unknown().optional(),
  items: z.unknown().optional(),
  context: z.unknown().optional(),
});
export type Claims = z.infer<typeof claimsSchema>;

export interface DenialTrust {
  /** PDP identifier → its keys. No other issuer is trusted (PRJ-06). */
  readonly issuers: ReadonlyMap<string, JWTVerifyGetKey>;
  /** Our submission URL: a token made for another service is refused. */
  readonly audience: string;
  /**
   * The PDP's recorded binding token, for a denial that is only named by its evaluation. Undefined without a record. Throws an
   * `ApiProblem`.
   */
  readonly recorded: (evaluationId: string) => Promise<string | undefined>;
  readonly now: () => number;
}

/** The denial's claims, signed by the PDP, and its evaluation id. Freshness is checked later. */
export async function verifySigned(denial: Submission['denial'], trust: DenialTrust) {
  const token = denial.binding_token ?? (await tokenOnRecord(denial.evaluation_id, trust));
  const claims = claimsSchema.safeParse(await verifyToken(token, trust)).data;
  if (claims === undefined) throw invalid('the token lacks required claims');
  if (claims.iat !== undefined && claims.iat * 1_000 > trust.now() + SKEW_MS)
    throw invalid('the token was issued in the future');
  const evaluationId = claims.evaluation_id ?? denial.evaluation_id;
  if (evaluationId === undefined || (denial.evaluation_id ?? evaluationId) !== evaluationId) {
    throw invalid('denial.evaluation_id differs from the token');
  }
  return { claims, evaluationId };
}

const evaluationSchema = z.looseObject({
  subject: z.looseObject({ type: z.string(), id: z.string() }),
  action: z.looseObject({ name: z.string() }),
  resource: z.looseObject({ type: z.string(), id: z.string() }),
});

/**
 * The denied evaluation request on the PDP's record, with its requester, for a client that could submit a request for it but has not
 * yet. Throws an `ApiProblem`, as for a submission.
 */
export async function recallDenial(evaluationId: string, trust: DenialTrust) {
  const payload = await verifyToken(await tokenOnRecord(evaluationId, trust), trust);
  const claims = claimsSchema.safeParse(payload).data;
  const evaluation = evaluationSchema.safeParse(payload).data;
  if (claims === undefined || evaluation === undefined)
    throw invalid('the token does not contain the evaluation request');
  if (claims.evaluation_id !== evaluationId) throw invalid('the recorded denial is for another evaluation');
  checkFreshness(undefined, claims, trust.now());
  const { subject, action, resource } = evaluation as Pick<EvaluationRequest, 'subject' | 'action' | 'resource'>;
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
  if (keys === undefined) throw invalid('the issuer of the token is not trusted here');
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
    // The rest of the token is valid. Its age is judged last, after the binding.
    if (error instanceof errors.JWTExpired) return error.payload;
    if (error instanceof errors.JOSEError && !KEYS_UNREACHABLE.has(error.code)) throw invalid('the token is not valid');
    throw new ApiProblem(503, 'the keys of the policy decision point cannot be fetched');
  }
}

/** The claimed issuer. A token without a key id has none: a set of one key would verify it under any name (ARAP-BND-01). */
function issuerOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).kid === undefined ? undefined : decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** The earliest deadline holds. An echoed deadline must equal the signed one (ARAP-BND-15 to 17). */
export function checkFreshness(denial: Submission['denial'] | undefined, claims: Claims, now: number): void {
  // The PDP's record replaces the echo, which came through the enforcement point (ARAP-BND-19).
  const echoed = denial?.binding_token === undefined ? undefined : denial.expires_at;
  const exp = claims.exp * 1_000;
  const signed = claims.denial_expires_at === undefined ? undefined : Date.parse(claims.denial_expires_at);
  const echo = echoed === undefined ? (signed ?? exp) : Date.parse(echoed);
  if (signed === undefined ? exp > echo : signed !== echo) {
    throw invalid('denial.expires_at differs from the denial');
  }
  if (Math.min(echo, exp) + SKEW_MS <= now) throw new ApiProblem('expired_denial', 'evaluate again for a fresh denial');
}

export const invalid = (detail: string) => new ApiProblem('invalid_denial_binding', detail);
