import { randomUUID } from 'node:crypto';
import { openValues, scopeOf, type Choice } from '../../apps/approvals/grants/scope.ts';
import type { AccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import type { GrantStore } from '../../apps/approvals/stores/grant.store.ts';
import type { NewAccessRequest, NewVote } from '../../apps/approvals/stores/new-rows.ts';
import { canonicalJson, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import { anApprover, newAccessRequest, newVote } from './access-requests.ts';
import type { SubmissionChanges } from './submissions.ts';

/** The digest of a tool's description. */
export const TOOL_DIGEST = `sha-256:${'a'.repeat(64)}`;
export const OTHER_DIGEST = `sha-256:${'b'.repeat(64)}`;

export type RequestChanges = Partial<NewAccessRequest> & { readonly args?: JsonObject };

/** A request of `agent` for `dana` on which policy allows a grant for half an hour and ten uses. */
export const grantableRequest = (changes: RequestChanges = {}): NewAccessRequest => {
  const { args = { path: '/tmp/a' }, ...members } = changes;
  return newAccessRequest({
    context: canonicalJson({ arguments: args }),
    requester: { issuer: 'https://idp.test', subject: 'dana', clientId: 'agent' },
    parties: ['dana', 'agent'],
    template: 'operator_approval',
    toolDigest: TOOL_DIGEST,
    grantSeconds: 1_800,
    grantUses: 10,
    ...members,
  });
};

/** What the giver chooses, and their vote. */
export interface Gift {
  readonly seconds?: number;
  readonly uses?: number;
  readonly sessionId?: string;
  readonly choices?: readonly Choice[];
  readonly vote?: Partial<NewVote>;
}

/** Opens a request, and lets `bob` approve it with a grant. Every value stays as it is unless `choices` says otherwise. */
export async function givenGrant(
  stores: { readonly requests: AccessRequestStore; readonly grants: GrantStore },
  request: NewAccessRequest = grantableRequest(),
  { seconds = 600, uses = 10, sessionId = 'none', choices, vote = {} }: Gift = {},
) {
  const args = (JSON.parse(request.context) as { arguments: JsonObject }).arguments;
  const scope = scopeOf(args, choices ?? openValues(args).map(() => ({ kind: 'exact' })));
  if (scope === undefined) throw new Error('the choices do not cover the call');
  await stores.requests.create(request);
  const id = `grn_${randomUUID()}`;
  const ballot = newVote(request, { approver: anApprover('bob'), via: 'inbox', ...vote });
  const outcome = await stores.grants.give({ id, seconds, uses, sessionId, ...scope }, ballot);
  return { id, request, outcome };
}

const TOOL = 'files__write_file';

/** What a submission has on which policy allows a grant for half an hour and ten uses. */
export const grantableSubmission = (changes: SubmissionChanges = {}): SubmissionChanges => ({
  ...{ subject: 'dana', agent: 'coder', arguments: { path: '/srv/app/a.txt', content: 'hello' } },
  members: ['agent', 'arguments', 'call', 'call_digest'],
  ...changes,
  context: { call: { tool: changes.tool ?? TOOL, tool_digest: TOOL_DIGEST, roles: [] }, ...changes.context },
  claims: { grantable: { seconds: 1_800, uses: 10 }, ...changes.claims },
});
