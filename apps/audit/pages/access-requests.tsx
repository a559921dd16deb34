import type { ResolutionStatement, StatedPerson } from '../../../workflows/domain/access-request/statement.ts';
import type { OutcomeRecord, RecordedAccessRequest } from '../../../workflows/domain/gated-call/outcome-record.ts';
import { Facts } from '../../shared/pages/layout.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import { Moment } from './parts.tsx';
import { Person, Via, VoteLine } from './people.tsx';

/** Each access request of the call, with who resolved it and how, as the access request service states it. */
export function AccessRequests({ record }: { record: OutcomeRecord }) {
  const { accessRequests } = record;
  return (
    <section class="card" aria-label="Access requests">
      <h2>Access requests</h2>
      {accessRequests.map((one) => (
        <div key={one.generation} class="audit-request">
          <Outline of={one} isOneOfSeveral={accessRequests.length > 1} />
          <Statement request={one} />
        </div>
      ))}
    </section>
  );
}

function Outline({ of: one, isOneOfSeveral }: { of: RecordedAccessRequest; isOneOfSeveral: boolean }) {
  const stated = one.statement?.kind === 'stated' ? one.statement : undefined;
  const stages = stated?.stages?.map(
    ({ name, quorum }, at) => `${at + 1} ${name}${quorum ? `: ${quorum} needed` : ''}`,
  );
  return (
    <Facts
      rows={[
        isOneOfSeveral && ['Generation', one.generation],
        ['Request', one.accessRequestId ? <Code text={one.accessRequestId} /> : 'never accepted by the service'],
        ['Approval', one.approvalId ? <Code text={one.approvalId} /> : 'none'],
        stated && ['Stated as', stated.status],
        stated?.template && ['Template', <Visible text={stated.template} />],
        stages && ['Stages', <Visible text={stages.join(', ')} />],
      ]}
    />
  );
}

/** The page names the access request service as the source: it is not a finding of ours. */
function Statement({ request: { statement, accessRequestId } }: { request: RecordedAccessRequest }) {
  if (accessRequestId === undefined) return null;
  if (statement === undefined) {
    return (
      <p class="hint">
        It is not known who resolved it: the service did not state it, or was not asked before the call ended.
      </p>
    );
  }
  if (statement.kind === 'unreadable') {
    return <p class="hint">The access request service states who resolved it, but its statement could not be read.</p>;
  }
  return (
    <>
      <BrokenGlass of={statement} />
      <Votes of={statement} />
      <Extensions of={statement} />
      <HandOvers of={statement} />
      <Questions of={statement} />
      <Cancelled of={statement} />
      <p class="hint">This is the statement of the access request service, read over an authenticated connection.</p>
    </>
  );
}

function BrokenGlass({ of: { breakGlass } }: { of: ResolutionStatement }) {
  if (!breakGlass) return null;
  const { by, reason, via, at } = breakGlass;
  return (
    <div class="notice warn">
      <p>
        <strong>Break-glass.</strong> <Person of={by} /> granted it alone, past its approvers
        <Via via={via} />. <Moment at={at} />
        <Issuer of={by} />
      </p>
      <Reason text={reason} />
    </div>
  );
}

function Votes({ of: { votes, stages } }: { of: ResolutionStatement }) {
  if (votes.length === 0) return <p class="soft">No vote was cast.</p>;
  return (
    <ul class="votes audit-votes">
      {votes.map((vote) => (
        <li key={`${vote.stage}${vote.approver.subject}`}>
          <VoteLine vote={vote} stageName={vote.stage === undefined ? undefined : stages?.[vote.stage - 1]?.name} />
          <p class="soft">
            <Moment at={vote.at} />
            <Issuer of={vote.approver} />
          </p>
          {vote.reason && <Reason text={vote.reason} />}
          {vote.agentMessage && <Reason text={`To the agent: ${vote.agentMessage}`} />}
        </li>
      ))}
    </ul>
  );
}

function Extensions({ of: { extensions = [], stages } }: { of: ResolutionStatement }) {
  return extensions.map(({ by, stage, from, to, reason, via, at }) => (
    <div key={`${stage}${to}`}>
      <p>
        <Person of={by} /> gave stage {stage} <Visible text={stages?.[stage - 1]?.name ?? ''} /> more time
        <Via via={via} />: until <Moment at={to} />, before that until <Moment at={from} />. <Moment at={at} />
        <Issuer of={by} />
      </p>
      {reason && <Reason text={reason} />}
    </div>
  ));
}

function HandOvers({ of: { handOvers = [] } }: { of: ResolutionStatement }) {
  return handOvers.map(({ by, to, at, revokedAt }) => (
    <p key={`${by.subject}${at}`}>
      <Person of={by} /> handed the request over to <Visible text={to} />. <Moment at={at} />
      {revokedAt !== undefined && (
        <>
          , taken back <Moment at={revokedAt} />
        </>
      )}
      <Issuer of={by} />
    </p>
  ));
}

function Questions({ of: { questions = [] } }: { of: ResolutionStatement }) {
  return questions.map(({ by, onBehalfOf, stage, question, via, at, answer }) => (
    <div key={`${by.subject}${at}`}>
      <p>
        <Person of={by} /> asked the requester in stage {stage}
        {onBehalfOf !== undefined && (
          <>
            , in the place of <Visible text={onBehalfOf} />
          </>
        )}
        <Via via={via} />. <Moment at={at} />
        <Issuer of={by} />
      </p>
      <Reason text={question} />
      {answer === undefined ? (
        <p class="soft">The requester did not answer.</p>
      ) : (
        <>
          <p>
            The requester answered. <Moment at={answer.at} />
          </p>
          <Reason text={answer.text} />
        </>
      )}
    </div>
  ));
}

function Cancelled({ of: { cancelled } }: { of: ResolutionStatement }) {
  if (!cancelled) return null;
  const { by, client, reason, via, at } = cancelled;
  return (
    <div>
      <p>
        Withdrawn{by || client ? ' by ' : ''}
        {by ? <Person of={by} /> : client && <Visible text={`the client ${client}`} />}
        <Via via={via} />. {at && <Moment at={at} />}
        <Issuer of={by} />
      </p>
      {reason && <Reason text={reason} />}
    </div>
  );
}

const Issuer = ({ of }: { of: StatedPerson | undefined }) =>
  of?.issuer ? (
    <>
      {' · '}
      <Visible text={of.issuer} />
    </>
  ) : null;

const Reason = ({ text }: { text: string }) => (
  <blockquote>
    <Visible text={text} />
  </blockquote>
);
