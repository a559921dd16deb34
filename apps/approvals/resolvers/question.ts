import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import { callView } from '../inbox/view.ts';

/**
 * What the resolver of the open stage is asked: everything of the call that an approver sees. Id and text depend on the request
 * and its stage alone, so that a resolver recognises what it was asked before.
 */
export function questionOf(request: AccessRequest): { readonly id: string; readonly body: string } {
  const { id, tool, generation, callDigest, stage, createdAt, expiresAt } = request;
  const { subject, requester, template, policies, reason, title } = request;
  const body = JSON.stringify({
    type: 'access_request.question',
    timestamp: createdAt,
    data: {
      ...{ id, tool, title, generation, callDigest },
      ...callView(request),
      ...{ subject: { type: subject.type, id: subject.id }, requester, template, policies, reason },
      stage: { name: openStage(request).name, position: stage, of: request.stages.length },
      ...{ createdAt, expiresAt },
    },
  });
  return { id: `msg_${id}_${stage}_question`, body };
}
