import { randomUUID } from 'node:crypto';
import type { JWK } from 'jose';
import { sha256 } from '../../apps/shared/crypto.ts';
import type { Config } from '../../apps/shared/config/config.ts';
import { boundParts } from '../../workflows/domain/authzen/denial-binding.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { callDigest } from '../../workflows/domain/gated-call/call-binding.ts';
import { signedDenial, type DenialChanges } from './signed-denials.ts';

export interface SubmissionChanges extends DenialChanges {
  readonly arguments?: JsonObject;
  readonly tool?: string;
  /** Of a call that was asked about in other words than those of the protocol. */
  readonly mapped?: {
    readonly action: { readonly name: string };
    readonly resource: { readonly type: string; readonly id: string; readonly properties?: JsonObject };
  };
  /** The subject, and the agent in between. */
  readonly subject?: string;
  readonly agent?: string;
  /** Context members that the denial binds. */
  readonly members?: readonly string[];
  /** Members of the evaluated context that differ. */
  readonly context?: JsonObject;
  /** Another key than the PDP's. */
  readonly key?: JWK;
  /** Members of the body that differ. */
  readonly body?: Record<string, unknown>;
}

/** A call of a person's agent, as the gateway submits it: with the names in the token of the person. */
export function ofPerson(issuer: string, { person, agent }: { person: string; agent: string }): SubmissionChanges {
  const source = { generation: 1, requester: { iss: issuer, sub: person } };
  const client = { id: 'mcp-gateway', actor: { id: agent, issuer, type: 'ai_agent' }, source };
  return { subject: person, agent, body: { client } };
}

/** A submission as the gateway makes it, for a denial that the PDP with this key has signed. */
export async function aSubmission(of: { urls: Config['urls']; key: JWK }, changes: SubmissionChanges = {}) {
  const { urls } = of;
  const tool = changes.tool ?? 'files__write_file';
  const args = changes.arguments ?? { path: `/tmp/${randomUUID()}`, content: 'hello' };
  const subject = changes.subject ?? 'agent';
  const agent = changes.agent ?? subject;
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
  const denial = await signedDenial(
    { urls, key: changes.key ?? of.key },
    { parts, members },
    {
      expiresAt: changes.expiresAt,
      header: changes.header,
      claims: {
        template: 'operator_approval',
        reason: 'approval_required',
        policies: ['writes-need-approval'],
        display: {
          title: 'Writing a file',
          description: 'Writes outside the scratch folder need a second pair of eyes.',
        },
        ...parts,
        ...changes.claims,
      },
    },
  );
  return {
    ...evaluation,
    client: {
      id: 'mcp-gateway',
      actor: { id: agent, issuer: urls.issuer, type: 'ai_agent' },
      source: { generation: 1 },
    },
    callback: { endpoint: `${urls.gateway}/callbacks/access-requests`, state: 'opaque-state' },
    denial: {
      ...denial,
      evaluated_at: new Date().toISOString(),
      reason: 'approval_required',
      template: 'operator_approval',
    },
    ...changes.body,
  };
}
