import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import { addressOf } from '../../shared/http/list-cursor.ts';
import { Time } from '../../shared/pages/layout.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import { LOOKED_THROUGH } from '../listing.ts';
import type { EndedRequest, OtherRequest, SameAgent } from '../stores/same-agent.ts';
import { Summary, summaryOf, type SummaryTemplateOf } from './summary.tsx';

interface SameAgentProps {
  readonly request: AccessRequest;
  readonly others: SameAgent;
  readonly summaries: SummaryTemplateOf;
}

/** What became of the last requests of the same agent for the same tool, and what else it has open. */
export function SameAgentSection(props: SameAgentProps) {
  return (
    <section class="card" aria-labelledby="same-agent">
      <h2 id="same-agent">The same agent</h2>
      <h3>Before, with this tool</h3>
      <Ended {...props} />
      <h3>Also open</h3>
      <Open {...props} />
    </section>
  );
}

function Ended({ request, others: { ended }, summaries }: SameAgentProps) {
  const { requester, tool } = request;
  if (ended.length === 0) {
    return <p class="soft">Nothing that you may read, among the last {LOOKED_THROUGH} requests that ended.</p>;
  }
  return (
    <>
      <ul class="votes">
        {ended.map((one) => (
          <li key={one.id}>
            <Line {...{ one, request, template: summaries(one.tool) }} />
            <div class="soft">
              <End {...one} />
            </div>
          </li>
        ))}
      </ul>
      <p class="under">
        <a href={addressOf('/requests', { status: 'ended', agent: requester.clientId, tool })}>All that ended</a>
      </p>
    </>
  );
}

function Open({ request, others: { open, openCount, isCountCut }, summaries }: SameAgentProps) {
  if (openCount === 0) return <p class="soft">Nothing else that you may read.</p>;
  return (
    <>
      <ul class="votes">
        {open.map((one) => (
          <li key={one.id}>
            <Line {...{ one, request, template: summaries(one.tool) }} />
            <div class="soft">
              asked <Time at={one.at} />
            </div>
          </li>
        ))}
      </ul>
      <p class="under">
        <a href={addressOf('/requests', { status: 'pending', agent: request.requester.clientId })}>
          {isCountCut && 'At least '}
          {openCount} more open {openCount === 1 ? 'request' : 'requests'}
        </a>
      </p>
    </>
  );
}

interface LineProps extends Pick<SameAgentProps, 'request'> {
  readonly one: OtherRequest;
  readonly template: string | undefined;
}

/** What the other request is about, with its person where that is another one. */
const Line = ({ one, request, template }: LineProps) => (
  <>
    <a href={`/requests/${one.id}`}>
      <Summary parts={summaryOf(one, template)} />
    </a>
    {one.subject !== request.requester.subject && (
      <div class="soft">
        for <Visible text={one.subject} />
      </div>
    )}
  </>
);

const WORDS = {
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired',
  cancelled: 'Cancelled',
  failed: 'Could not be decided',
} as const satisfies Record<EndedRequest['status'], string>;

/** What became of a request, and by whom. A person who decided several stages is named once. */
function End({ status, by = [], byGrant, revokedBy, at }: EndedRequest) {
  return (
    <>
      {WORDS[status]}
      {[...new Set(by)].map((name, position) => (
        <span key={position}>
          {position === 0 ? ' by ' : ', '}
          <Visible text={name} />
        </span>
      ))}
      {byGrant === true && ' (a grant)'} <Time at={at} />
      {revokedBy !== undefined && (
        <>
          , revoked by <Visible text={revokedBy} />
        </>
      )}
    </>
  );
}
