import { createHash, randomUUID } from 'node:crypto';
import { importJWK, SignJWT, type JWK, type JWTHeaderParameters } from 'jose';
import { sha256 } from '../../activities/sha256.ts';
import type { Config } from '../../apps/shared/config/config.ts';
import { boundParts } from '../../workflows/domain/authzen/denial-binding.ts';
import { canonicalJson, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import { callDigest } from '../../workflows/domain/gated-call/call-binding.ts';

export interface SubmissionChanges {
  readonly arguments?: JsonObject;
  readonly tool?: string;
  /** Of a call that was asked about in other words than those of the protocol. */
  readonly mapped?: {
    readonly action: { readonly name: string };
    readonly resource: { readonly type: string; readonly id: string };
  };
  /** For whom, and through which agent. */
  readonly subject?: string;
  readonly agent?: string;
  readonly expiresAt?: Date;
  /** Context members that the denial binds. */
  readonly members?: readonly string[];
  /** Members of the evaluated context that differ. */
  readonly context?: JsonObject;
  /** Claims of the binding token that differ; undefined leaves one out. */
  readonly claims?: Record<string, unknown>;
  readonly header?: { readonly alg?: string; readonly kid?: string | undefined; readonly [name: string]: unknown };
  /** Another key than the PDP's. */
  readonly key?: JWK;
  /** Members of the body that differ. */
  readonly body?: Record<string, unknown>;
}

/** A submission as the gateway makes it, for a denial that the PDP with this key has signed. */
export async function aSubmission(of: { urls: Config['urls']; key: JWK }, changes: SubmissionChanges = {}) {
  const { urls } = of;
  const tool = changes.tool ?? 'files__write_file';
  const args = changes.arguments ?? { path: `/tmp/${randomUUID()}`, content: 'hello' };
  const subject = changes.subject ?? 'agent';
  const agent = changes.agent ?? subject;
  const expiresAt = changes.expiresAt ?? new Date((Math.floor(Date.now() / 1_000) + 600) * 1_000);
  const evaluation = {
    subject: { type: 'identity', id: subject },
    action: { name: 'tools/call' },
    resource: { type: 'tool', id: tool },
    ...changes.mapped,
    context: {
      agent,
      arguments: args,
      call_digest: callDigest({ tool, arguments: args }, sha256),
      ...changes.context,
    },
  };
  const members = changes.members ?? ['agent', 'arguments', 'call_digest'];
  const parts = boundParts(evaluation, members);
  const evaluationId = `eval_${randomUUID()}`;
  const claims = {
    iss: urls.pdp,
    aud: urls.accessRequests,
    iat: Math.floor(Date.now() / 1_000),
    exp: Math.floor(expiresAt.getTime() / 1_000),
    jti: randomUUID(),
    evaluation_id: evaluationId,
    denial_expires_at: expiresAt.toISOString(),
    requester: 'mcp-gateway',
    template: 'operator_approval',
    reason: 'approval_required',
    policies: ['writes-need-approval'],
    display: { title: 'Writing a file', description: 'Writes outside the scratch folder need a second pair of eyes.' },
    binding_context_members: members,
    binding_hash: createHash('sha256').update(canonicalJson(parts)).digest('base64url'),
    ...parts,
    ...changes.claims,
  };
  return {
    ...evaluation,
    client: {
      id: 'mcp-gateway',
      actor: { id: agent, issuer: urls.issuer, type: 'ai_agent' },
      source: { generation: 1 },
    },
    callback: { endpoint: `${urls.gateway}/callbacks/access-requests`, state: 'opaque-state' },
    denial: {
      evaluation_id: evaluationId,
      evaluated_at: new Date().toISOString(),
      expires_at: expiresAt.toISOString(),
      reason: 'approval_required',
      template: 'operator_approval',
      binding_token: await sign(claims, changes.key ?? of.key, changes.header),
    },
    ...changes.body,
  };
}

async function sign(claims: object, key: JWK, header: SubmissionChanges['header'] = {}): Promise<string> {
  const payload: Record<string, unknown> = JSON.parse(JSON.stringify(claims));
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'ES256', kid: String(key.kid), typ: 'JWT', ...header } as JWTHeaderParameters)
    .sign(await importJWK(key, header.alg ?? 'ES256'));
}
