import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { PEP_CLIENT_ID } from '../../../workflows/domain/authzen/evaluation.ts';
import { AUDITOR_ROLE } from '../../../workflows/domain/gated-call/outcome-record.ts';
import { Instant, usePageTime } from '../../shared/pages/layout.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import { wordsOf } from './view.tsx';

interface AfterEndProps {
  readonly request: AccessRequest;
  /** Roles of the visitor. */
  readonly roles: readonly string[];
  /** Public address of the auditors' pages. */
  readonly auditUrl: string;
}

/**
 * What follows the end of a request, as far as the access request service knows it: whether its client has fetched the approval. What
 * became of the call is in its record, which is for auditors alone, and which only our own gateway keeps.
 */
export function AfterEnd({ request, roles, auditUrl }: AfterEndProps) {
  const hasRecord = request.endedAt !== undefined && request.clientId === PEP_CLIENT_ID && roles.includes(AUDITOR_ROLE);
  if (request.approval === undefined && !hasRecord) return null;
  return (
    <section class="card" aria-labelledby="after">
      <h2 id="after">After the decision</h2>
      {request.approval !== undefined && <Fetched request={request} approval={request.approval} />}
      {hasRecord && (
        <p>
          <a href={`${auditUrl}/outcome-records/by-decision/${encodeURIComponent(request.evaluationId)}`}>
            Record of the call
          </a>
          , from its end on
        </p>
      )}
    </section>
  );
}

const OVER = 'The approval is over, and nothing starts on it any more.';

interface FetchedProps extends Pick<AfterEndProps, 'request'> {
  readonly approval: NonNullable<AccessRequest['approval']>;
}

/** An approval that was fetched after it had ended counts as not fetched. */
function Fetched({ request, approval: { fetchedAt, approvedUntil, revoked: revocation } }: FetchedProps) {
  const isOver = Date.parse(approvedUntil) <= usePageTime().getTime();
  const { granted, revoked, notUsed } = wordsOf(request);
  const client = request.clientId === PEP_CLIENT_ID ? 'The gateway' : <Visible text={request.clientId} />;
  if (fetchedAt !== undefined && Date.parse(fetchedAt) < Date.parse(approvedUntil)) {
    const next = revocation === undefined ? granted : revoked;
    return (
      <>
        <p>
          {client} fetched the approval at <Instant at={fetchedAt} />. {isOver ? OVER : next}
        </p>
        <p class="soft">Approvers are not told the result.</p>
      </>
    );
  }
  if (!isOver) return <p>{client} has not fetched the approval yet.</p>;
  return (
    <p>
      {client} did not fetch the approval while it was valid. {notUsed}
    </p>
  );
}
