import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import type { ShownPreviews } from '../access-requests/preview.ts';
import type { SameAgent } from '../stores/same-agent.ts';
import { hintWords } from '../../../workflows/domain/tools/hint-words.ts';
import { canonicalJson, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { Facts, Instant, Page, Time } from '../../shared/pages/layout.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import { WhoDecides } from './who-decides.tsx';
import { Deadline } from './deadline.tsx';
import { DecisionForm, Standing } from './decision.tsx';
import { ExtensionForm } from './extension.tsx';
import { HandOverForm } from './hand-over-form.tsx';
import { GrantForm } from './grant-form.tsx';
import { Arguments, JsonBlock, type View } from './arguments/arguments.tsx';
import { AfterEnd } from './after-end.tsx';
import { BreakGlassForm, EmergencyNotice } from './emergency.tsx';
import { Keys, Live } from './live.tsx';
import { EffectBadge, Summary, summaryOf, type SummaryTemplateOf } from './summary.tsx';
import type { PasskeyDemand } from './passkey-part.tsx';
import type { InboxPerson } from './person.ts';
import { Agent, Person } from './names.tsx';
import { type Near, NextRequest, useRequestAddress, Ways } from './near.tsx';
import { PreviewSection } from './preview.tsx';
import { AskForm, Questions } from './questions-part.tsx';
import { SameAgentSection } from './same-agent.tsx';
import { textFor, type Refused } from './refused.tsx';
import { canBreakGlass, canReview, obstacleTo, type Reading } from './seat.ts';
import { callOf, StatusBadge, wordsOf } from './view.tsx';
import { WithdrawalForm } from './withdrawal.tsx';

export interface RequestPageProps extends Reading {
  readonly person: InboxPerson;
  /** What the server of the tool says would happen. */
  readonly previews: ShownPreviews | undefined;
  /** Other requests of the agent. Undefined if no agent is named. */
  readonly sameAgent: SameAgent | undefined;
  readonly summaries: SummaryTemplateOf;
  readonly auditUrl: string;
  /** What an approval on this page needs, if the open stage demands a passkey. */
  readonly passkey?: PasskeyDemand | undefined;
  /** The view of the arguments that the visitor chose. */
  readonly view?: View | undefined;
  /** Where the visitor came from. */
  readonly near: Near;
  /** The visitor's last form, if it was refused. */
  readonly refused?: Refused | undefined;
}

/** The policy evaluates a call under another action if a mapping says so. */
const TOOLS_CALL = 'tools/call';

/** Everything an approver needs to decide one request: the complete call, then the decision, then the rest. */
export function RequestPage(props: RequestPageProps) {
  const { request, seat, broken, presetReasons, template, previews, person, passkey, view, refused } = props;
  const { sameAgent, summaries, auditUrl, near } = props;
  const { csrfToken } = person;
  const reviewer = broken !== undefined && canReview(seat, request, broken) ? csrfToken : undefined;
  return (
    <Page title={request.tool} section="Approvals" person={person}>
      <Live isStill={refused !== undefined}>
        <Ways near={near} hasEnded={request.endedAt !== undefined} />
        <div class="title-row">
          <h1>
            {template === undefined ? <Code text={request.tool} /> : <Summary parts={summaryOf(request, template)} />}
          </h1>
          <span>
            {request.outline !== undefined && <EffectBadge effect={request.effect} />}{' '}
            <StatusBadge status={request.status} />
          </span>
        </div>
        <Lead request={request} />
        {broken !== undefined && (
          <EmergencyNotice broken={broken} csrfToken={reviewer} typed={textFor('review', refused)} />
        )}
        <Standing request={request} seat={seat} broken={broken} refused={refused} />
        {obstacleTo(seat, request) !== undefined && <NextRequest near={near} summaries={summaries} />}
        <div class="detail">
          <Asked request={request} view={view} />
          {previews !== undefined && <PreviewSection {...{ ...previews, csrfToken, requestId: request.id }} />}
          <DecisionForm {...{ request, seat, presetReasons, csrfToken, passkey, refused }} />
          <div class="detail-side">
            <AfterEnd request={request} roles={seat.visitor.roles} auditUrl={auditUrl} />
            <WhoAndWhy request={request} />
            <WhoDecides request={request} visitor={seat.visitor.subject} />
            {sameAgent !== undefined && <SameAgentSection {...{ request, others: sameAgent, summaries }} />}
          </div>
          <OtherForms {...{ request, seat, broken, csrfToken, refused }} />
        </div>
      </Live>
      <Keys person={person} />
    </Page>
  );
}

type OtherFormsProps = Pick<RequestPageProps, 'request' | 'seat' | 'broken' | 'refused'> & {
  readonly csrfToken: string;
};

/** All that a visitor can do beside the decision. */
function OtherForms({ request, seat, broken, csrfToken, refused }: OtherFormsProps) {
  return (
    <>
      <Questions {...{ request, seat, csrfToken, refused }} />
      <GrantForm {...{ request, seat, csrfToken, refused }} />
      <AskForm {...{ request, seat, csrfToken, refused }} />
      <ExtensionForm {...{ request, seat, csrfToken, refused }} />
      <HandOverForm {...{ request, seat, csrfToken, refused }} />
      <WithdrawalForm {...{ request, seat, broken, csrfToken }} typed={textFor('withdrawal', refused)} />
      {canBreakGlass(seat, request) && (
        <BreakGlassForm request={request} csrfToken={csrfToken} typed={textFor('break-glass', refused)} />
      )}
    </>
  );
}

/** The requested call or access, complete. */
function Asked({ request, view }: Pick<RequestPageProps, 'request' | 'view'>) {
  const { action, resource } = request;
  const call = callOf(request);
  const words = wordsOf(request);
  const addressOf = useRequestAddress();
  return (
    <section class="card" aria-labelledby="call">
      <Arguments
        canonical={call.arguments ?? canonicalJson({ action: { ...action }, resource: { ...resource } })}
        label={words.label}
        id="arguments"
        heading={<h2 id="call">{words.heading[request.status === 'pending' ? 'open' : 'ended']}</h2>}
        view={view}
        address={addressOf(request.id)}
        mayHoldCredentials={call.arguments !== undefined}
      />
      {call.bound !== undefined && <OtherContext canonical={call.bound} />}
      {call.said !== undefined && (
        <>
          <h3>Stated by the requester, unverified</h3>
          <JsonBlock canonical={call.said} label="Input of the requester" id="input" />
        </>
      )}
    </section>
  );
}

/** Folded if it has only what the gateway says of every call, in plain letters: the decision then has room on a first screen. */
function OtherContext({ canonical }: { canonical: string }) {
  const isUsual = Object.keys(JSON.parse(canonical) as JsonObject).every((name) => name === 'call');
  return (
    <details open={!isUsual || !/^[\x20-\x7e]*$/.test(canonical)}>
      <summary>Also evaluated by policy</summary>
      <JsonBlock canonical={canonical} label="Other context" id="context" />
    </details>
  );
}

/** The agent, the request, and the person it acts for; then the time in which it can be decided. */
function Lead({ request }: { request: AccessRequest }) {
  const { subject, clientId } = request.requester;
  return (
    <>
      <p class="lead">
        {clientId === undefined ? <Person subject={subject} /> : <Agent clientId={clientId} />} {wordsOf(request).asked}
        {clientId !== undefined && clientId !== subject && (
          <>
            {' for '}
            <Person subject={subject} />
          </>
        )}{' '}
        <Time at={request.createdAt} />.
      </p>
      {request.endedAt === undefined && <Deadline request={request} />}
    </>
  );
}

function WhoAndWhy({ request }: { request: AccessRequest }) {
  const { requester, action, resource, bundle, approval, endedAt } = request;
  return (
    <section class="card" aria-labelledby="facts">
      <h2 id="facts">Requester and reason</h2>
      <Facts
        rows={[
          ['On behalf of', <Person subject={requester.subject} />],
          ['Agent', requester.clientId === undefined ? 'not named' : <Agent clientId={requester.clientId} />],
          ['Asked', <Instant at={request.createdAt} />],
          endedAt !== undefined && ['Ended', <Instant at={endedAt} />],
          approval && ['Approval valid until', <Instant at={approval.approvedUntil} />],
          isExplained(request) && ['Needs approval because', <Why request={request} />],
          bundle && ['Submitted together', <InBundle of={bundle} />],
          action.name !== TOOLS_CALL && [
            'Evaluated by policy as',
            <Code text={`${action.name}, on ${resource.type} ${resource.id}`} />,
          ],
          resource.properties !== undefined && [
            'Its server says, unverified',
            <ServerSays properties={resource.properties} />,
          ],
        ]}
      />
      <ForTheRecord request={request} />
    </section>
  );
}

/** The hints of the server in words, and everything else that it states as it is. */
function ServerSays({ properties }: { properties: JsonObject }) {
  const { annotations, ...others } = properties;
  const { words, rest } = hintWords(objectOf(annotations));
  const isWhole = words.length > 0 && Object.keys({ ...others, ...rest }).length === 0;
  if (isWhole) return <>{words.join(', ')}</>;
  return (
    <>
      {words.join(', ')} <Code text={canonicalJson(properties)} />
    </>
  );
}

const InBundle = ({ of: { position, size, id } }: { of: NonNullable<AccessRequest['bundle']> }) => (
  <>
    Item {position} of {size} in <Code text={id} />. Each item is decided separately.
  </>
);

/** Whether the policy decision point gave reasons in words. */
const isExplained = ({ title, description }: AccessRequest): boolean => (title ?? description) !== undefined;

const Why = ({ request: { title, description } }: { request: AccessRequest }) => (
  <>
    {title !== undefined && (
      <strong>
        <Visible text={title} />
      </strong>
    )}
    {description !== undefined && (
      <p>
        <Visible text={description} />
      </p>
    )}
  </>
);

/** What names the call and the rule to programs and auditors. */
const ForTheRecord = ({ request: { policies, template, reason, callDigest } }: { request: AccessRequest }) => (
  <details class="for-the-record">
    <summary>For the record</summary>
    <Facts
      rows={[
        policies.length > 0 && [policies.length === 1 ? 'Policy' : 'Policies', <Code text={policies.join(', ')} />],
        template !== undefined && ['Template', <Code text={template} />],
        reason !== undefined && ['Reason', <Code text={reason} />],
        ['Call digest', <code class="digest">{callDigest}</code>],
      ]}
    />
  </details>
);
