import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { DEFAULT_STAGE } from '../../apps/shared/approvers/stages.ts';
import type { NewAccessRequest, NewVote } from '../../apps/approvals/stores/new-rows.ts';
import type { Electorate, Stage } from '../../workflows/domain/access-request/stages.ts';

type StageChanges = Partial<Omit<Stage, 'approvers'>> & { readonly approvers?: Partial<Electorate> };

/** A stage that one person with the role `approver` settles, by default. */
export function aStage({ approvers, ...changes }: StageChanges = {}): Stage {
  const noApprovers = { people: [], groups: [], roles: [], requesterManager: false };
  return {
    ...DEFAULT_STAGE,
    ...changes,
    approvers: approvers === undefined ? DEFAULT_STAGE.approvers : { ...noApprovers, ...approvers },
  };
}

/** A new access request of `agent`, as a verified submission makes it. */
export const newAccessRequest = (changes: Partial<NewAccessRequest> = {}): NewAccessRequest => ({
  id: `arq_${randomUUID()}`,
  clientId: 'mcp-gateway',
  submittedBy: 'mcp-gateway',
  idempotencyKey: randomUUID(),
  bodyDigest: 'sha-256:body',
  evaluationId: randomUUID(),
  traceId: undefined,
  tokenId: randomUUID(),
  subject: '{"id":"agent","type":"identity"}',
  action: '{"name":"tools/call"}',
  resource: '{"id":"files__write_file","type":"tool"}',
  context: '{"arguments":{}}',
  claimed: '{}',
  effect: undefined,
  outline: undefined,
  tool: 'files__write_file',
  template: undefined,
  policies: [],
  reason: undefined,
  title: undefined,
  description: undefined,
  requester: { issuer: undefined, subject: 'agent', clientId: undefined },
  parties: ['agent'],
  toolDigest: undefined,
  grantSeconds: undefined,
  grantUses: undefined,
  generation: 1,
  callDigest: 'sha-256:call',
  bindingHash: 'hash',
  bindingContextMembers: [],
  requestedUntil: undefined,
  callback: undefined,
  stages: [DEFAULT_STAGE],
  separateStages: true,
  requestTtlMs: 600_000,
  keepMs: 86_400_000,
  isNotified: false,
  approvalTtlMs: 60_000,
  ...changes,
});

/** A vote of `alice`, who approves in the first stage. */
export const newVote = (of: { id: string; callDigest: string }, changes: Partial<NewVote> = {}): NewVote => ({
  requestId: of.id,
  generation: 1,
  callDigest: of.callDigest,
  approver: anApprover('alice'),
  judgedStage: 1,
  verdict: 'approve',
  reason: undefined,
  via: 'api',
  approvalId: `apr_${randomUUID()}`,
  ...changes,
});

export const anApprover = (subject: string, roles: readonly string[] = ['approver'], issuer = 'https://idp.test') => ({
  issuer,
  subject,
  roles,
});

/**
 * Counts the end of the first stage from its opening. The product reads the clock once more for it, and a machine may stand still in
 * between.
 */
export const endFromOpening = (pool: Pool, id: string) =>
  pool.query(
    `UPDATE approvals.access_request SET stage_ends_at = stage_opened_at + (stages -> 0 ->> 'withinSeconds')::int * interval '1 s'
     WHERE id = $1`,
    [id],
  );
