import type { ComponentChildren } from 'preact';
import type { Answers } from '../../../workflows/domain/gated-call/outcome-answers.ts';
import type { OutcomeRecord } from '../../../workflows/domain/gated-call/outcome-record.ts';
import type { RecordView } from '../record-view.ts';
import { Moment, Reference, State } from './parts.tsx';
import { timelineOf } from './timeline.ts';

/** One record, read from the top: what happened, why that can be said, and everything it rests on. */
export function RecordPage({ view }: { view: RecordView }) {
  const { answers, record } = view;
  return (
    <article class="audit-record">
      <p class="audit-back">
        <a href="/outcome-records">All outcome records</a>
      </p>
      <Warnings view={view} />
      <header class="audit-headline">
        <h1>{view.headline}</h1>
        <p>
          <State state={view.state} /> <strong>{view.tool}</strong> for <strong>{view.requester}</strong>,{' '}
          <Moment at={view.recordedAt} />
        </p>
      </header>
      {answers && <Questions answers={answers} />}
      {record && <Timeline record={record} />}
      {record && <Policy record={record} />}
      {record && <AccessRequests record={record} />}
      {record && <Call view={view} record={record} />}
      <Seal view={view} />
    </article>
  );
}

function Warnings({ view }: { view: RecordView }) {
  const contradictions = view.answers?.contradictions ?? ['The sealed text can no longer be read as a record.'];
  if (view.sealIntact && contradictions.length === 0) return null;
  return (
    <div class="audit-alarm" role="alert">
      <h2>{view.sealIntact ? 'This record contradicts itself' : 'The seal of this record is broken'}</h2>
      <ul>
        {contradictions.map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
      <p>Do not rely on it. Compare it with a backup, and find out who could write to the database.</p>
    </div>
  );
}

const DID_RUN = { yes: 'Yes', no: 'No', unknown: 'Unknown' } as const;

function Questions({ answers }: { answers: Answers }) {
  const { didRun, call, terminalBeforeExecution: terminal, couldRunTwice } = answers;
  return (
    <section class="audit-questions" aria-label="The four questions">
      <Question ask="Did it run?" answer={DID_RUN[didRun.answer]}>
        {didRun.why}
      </Question>
      <Question ask="Which call was it?" answer={call.tool}>
        <Reference>{call.callDigest}</Reference>
        <br />
        {call.why}
      </Question>
      <Question
        ask={`Was the ${terminal.verdict} before the effect?`}
        answer={terminal.wasDecidedBeforeExecution ? 'Yes' : 'Not shown'}
      >
        {terminal.why}
      </Question>
      <Question ask="Could it have run twice?" answer={couldRunTwice.answer === 'no' ? 'No' : 'Unknown'}>
        {couldRunTwice.why}
        <Siblings answers={answers} />
      </Question>
    </section>
  );
}

function Question({ ask, answer, children }: { ask: string; answer: string; children: ComponentChildren }) {
  return (
    <div class="audit-question">
      <h2>{ask}</h2>
      <p class="audit-answer">{answer}</p>
      <p>{children}</p>
    </div>
  );
}

function Siblings({ answers: { couldRunTwice } }: { answers: Answers }) {
  return couldRunTwice.siblings.map(({ taskId, state, outcomeRef }) => (
    <span key={taskId} class="audit-sibling">
      {outcomeRef ? <a href={`/outcome-records/${outcomeRef}`}>{taskId}</a> : taskId} ({state.replaceAll('_', ' ')})
    </span>
  ));
}

function Timeline({ record }: { record: OutcomeRecord }) {
  return (
    <section>
      <h2>What happened</h2>
      <ol class="audit-timeline">
        {timelineOf(record).map(({ at, what, detail, kind }) => (
          <li key={`${at}${what}`} class={`audit-${kind}`}>
            <span class="audit-what">{what}</span>
            {detail && <span class="audit-detail"> {detail}</span>}
            <Moment at={at} precise />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Policy({ record }: { record: OutcomeRecord }) {
  return (
    <section>
      <h2>Policy decisions</h2>
      <Facts
        rows={record.decisions.map((one) => [
          `${one.kind}${record.claim?.decisionId === one.id ? ', the claim rests on it' : ''}`,
          <>
            decision <Reference>{one.id}</Reference>
            {one.evaluationId && (
              <>
                <br />
                evaluation <Reference>{one.evaluationId}</Reference>
              </>
            )}
          </>,
        ])}
      />
    </section>
  );
}

function AccessRequests({ record }: { record: OutcomeRecord }) {
  return (
    <section>
      <h2>Access requests</h2>
      <Facts
        rows={record.accessRequests.map((one) => [
          one.approvalId ? `${one.generation}, approved` : `${one.generation}, not approved`,
          <>
            request{' '}
            {one.accessRequestId ? <Reference>{one.accessRequestId}</Reference> : 'never accepted by the service'}
            {one.approvalId && (
              <>
                <br />
                approval <Reference>{one.approvalId}</Reference>
              </>
            )}
          </>,
        ])}
      />
    </section>
  );
}

function Call({ view, record }: { view: RecordView; record: OutcomeRecord }) {
  const { requester, result } = record;
  return (
    <section>
      <h2>The call</h2>
      <Facts
        rows={[
          ['Task', <Reference>{view.taskId}</Reference>],
          ['Record', <Reference>{view.outcomeRef}</Reference>],
          ['Requester', `${requester.subject}${requester.clientId ? `, through ${requester.clientId}` : ''}`],
          ['Issuer', requester.issuer],
          ['Call digest', <Reference>{record.callDigest}</Reference>],
          ['Tool digest', <Reference>{record.toolDigest}</Reference>],
          ['Result digest', result ? <Reference>{result.digest}</Reference> : 'no result'],
          ...(record.reason ? ([['Reason', record.reason.replaceAll('_', ' ')]] as const) : []),
          ...(view.disposition ? ([['Disposition', view.disposition]] as const) : []),
        ]}
      />
    </section>
  );
}

function Seal({ view: { seal, sealIntact, outcomeRef } }: { view: RecordView }) {
  return (
    <section>
      <h2>Seal</h2>
      <p class={sealIntact ? 'audit-good' : 'audit-bad'}>
        {sealIntact
          ? 'Intact: the text of the record still has its digest.'
          : 'Broken: the text of the record was changed.'}
      </p>
      <Facts
        rows={[
          ['Recorded', <Reference>{seal.recorded}</Reference>],
          ['Recomputed now', <Reference>{seal.recomputed}</Reference>],
        ]}
      />
      <details>
        <summary>The sealed text, to digest it yourself with SHA-256</summary>
        <pre class="audit-sealed" data-outcome-ref={outcomeRef}>
          {seal.text}
        </pre>
      </details>
    </section>
  );
}

function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="audit-facts">
      {rows.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
