import { createHash, randomUUID } from 'node:crypto';
import { importJWK, SignJWT, type JWK, type JWTHeaderParameters } from 'jose';
import type { Config } from '../../apps/shared/config/config.ts';
import { canonicalJson, type JsonObject } from '../../workflows/domain/canonical-json.ts';

/** The differences from a denial that a PDP would sign. */
export interface DenialChanges {
  readonly expiresAt?: Date | undefined;
  /** Claims of the token that are added or differ; undefined leaves one out. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  readonly header?:
    | { readonly alg?: string; readonly kid?: string | undefined; readonly [name: string]: unknown }
    | undefined;
}

/** The part of a token that describes the denied request. */
export const hashOf = (parts: JsonObject) => createHash('sha256').update(canonicalJson(parts)).digest('base64url');

/** A denial of these parts as the PDP with this key signs it, for a submission. */
export async function signedDenial(
  { urls, key }: { urls: Config['urls']; key: JWK },
  { parts, members }: { parts: JsonObject; members: readonly string[] },
  changes: DenialChanges = {},
) {
  const expiresAt = changes.expiresAt ?? new Date((Math.floor(Date.now() / 1_000) + 600) * 1_000);
  const claims = {
    iss: urls.pdp,
    aud: urls.accessRequests,
    iat: Math.floor(Date.now() / 1_000),
    exp: Math.floor(expiresAt.getTime() / 1_000),
    jti: randomUUID(),
    evaluation_id: `eval_${randomUUID()}`,
    denial_expires_at: expiresAt.toISOString(),
    requester: 'mcp-gateway',
    binding_context_members: members,
    binding_hash: hashOf(parts),
  };
  return {
    evaluation_id: claims.evaluation_id,
    expires_at: claims.denial_expires_at,
    binding_token: await sign({ ...claims, ...changes.claims }, key, changes.header),
  };
}

async function sign(claims: object, key: JWK, header: DenialChanges['header'] = {}): Promise<string> {
  const payload: Record<string, unknown> = JSON.parse(JSON.stringify(claims));
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'ES256', kid: String(key.kid), typ: 'JWT', ...header } as JWTHeaderParameters)
    .sign(await importJWK(key, header.alg ?? 'ES256'));
}
