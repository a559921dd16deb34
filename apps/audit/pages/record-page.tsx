import type { ComponentChildren } from 'preact';
import type { Answers } from '../../../workflows/domain/gated-call/outcome-answers.ts';
import type { OutcomeRecord } from '../../../workflows/domain/gated-call/outcome-record.ts';
import type { Decider } from '../../../workflows/domain/gated-call/who-decided.ts';
import { addressOf } from '../../shared/http/list-cursor.ts';
import { Facts } from '../../shared/pages/layout.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { RecordView } from '../record-view.ts';
import { AccessRequests } from './access-requests.tsx';
import { LIST, RecordRows } from './list-page.tsx';
import { Moment, State, ToTheList } from './parts.tsx';
import { Deciders } from './people.tsx';
import { Previews } from './previews.tsx';
import { timelineOf } from './timeline.ts';

/** One record from the top: what happened, the reasons for saying so, and the evidence. */
export function RecordPage({ view }: { view: RecordView }) {
  const { answers, record } = view;
  return (
    <>
      <ToTheList />
      <Warnings view={view} />
      <header class="audit-headline">
        <h1>{view.headline}</h1>
        <p>
          <State state={view.state} /> <strong>{<Visible text={view.tool} />}</strong> for{' '}
          <strong>{<Visible text={view.requester} />}</strong> · <Moment at={view.recordedAt} />
        </p>
      </header>
      {answers && <Questions answers={answers} />}
      <div class="detail audit-detail">
        <div>
          {record && <AccessRequests record={record} />}
          {record?.previews && <Previews of={record.previews} />}
          {record && <Policy record={record} />}
          {record && <Timeline record={record} />}
        </div>
        <div class="audit-side">
          {record && <Call view={view} record={record} />}
          <Seal view={view} />
        </div>
      </div>
    </>
  );
}

function Warnings({ view }: { view: RecordView }) {
  const contradictions = view.answers?.contradictions ?? ['The sealed text can no longer be read as a record.'];
  if (view.sealIntact && contradictions.length === 0) return null;
  return (
    <div class="notice bad audit-alarm" role="alert">
      <h2>{view.sealIntact ? 'This record contradicts itself' : 'The seal of this record is broken'}</h2>
      <ul>
        {contradictions.map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
      <p>Do not rely on this record. Compare it with a backup, and find out who could write to the database.</p>
    </div>
  );
}

function Timeline({ record }: { record: OutcomeRecord }) {
  return (
    <section class="card">
      <h2>What happened</h2>
      <ol class="audit-timeline">
        {timelineOf(record).map(({ at, what, detail, kind }) => (
          <li key={`${at}${what}`} class={`audit-${kind}`}>
            <span>
              <span class="audit-what">{what}</span>
              {detail && (
                <span class="soft">
                  {' '}
                  <Visible text={detail} />
                </span>
              )}
            </span>
            <Moment at={at} precise />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Policy({ record }: { record: OutcomeRecord }) {
  return (
    <section class="card">
      <h2>Policy decisions</h2>
      {record.decisions.map((one) => (
        <Facts
          key={one.id}
          rows={[
            ['Answer', record.claim?.decisionId === one.id ? `${one.kind}; the basis of the claim` : one.kind],
            ['Decision', <Code text={one.id} />],
            one.evaluationId && ['Evaluation', <Code text={one.evaluationId} />],
            ['Policies', <Visible text={one.policies?.join(', ') ?? 'not stated by the decision point'} />],
            [
              'Policy version',
              one.policyVersion ? <Code text={one.policyVersion} /> : 'not stated by the decision point',
            ],
            ...(one.obligations ?? []).map(
              ({ id, type, outcome }) =>
                ['Obligation', <Visible text={`${type} ${id}: ${outcome.replaceAll('_', ' ')}`} />] as const,
            ),
          ]}
        />
      ))}
    </section>
  );
}

function Call({ view, record }: { view: RecordView; record: OutcomeRecord }) {
  const { requester, result } = record;
  const { lateResult } = view;
  return (
    <section class="card">
      <h2>The call</h2>
      <Facts
        rows={[
          ['Requester', <Visible text={requester.subject} />],
          requester.aliases && ['Also called', <Visible text={requester.aliases.join(', ')} />],
          requester.clientId && ['Through the agent', <Visible text={requester.clientId} />],
          requester.actors && ['Acting for them', <Visible text={requester.actors.map(actorInWords).join(', for ')} />],
          ['Issuer', <Visible text={requester.issuer} />],
          ['Disposition', view.disposition ?? 'none'],
          record.reason && ['Reason', record.reason.replaceAll('_', ' ')],
          ['Task', <Code text={view.taskId} />],
          ['Record', <Code text={view.outcomeRef} />],
          ['Tool digest', <Code text={record.toolDigest} />],
          ['Result digest', result ? <Code text={result.digest} /> : 'no result'],
          lateResult && ['Came too late', <LateResult of={lateResult} />],
        ]}
      />
    </section>
  );
}

const actorInWords = ({ subject, clientId }: { subject: string; clientId?: string }) =>
  clientId === undefined ? subject : `${subject} (client ${clientId})`;

/** The answer of the tool that came after the call had been settled without it. */
function LateResult({ of: { isError, digest, at } }: { of: NonNullable<RecordView['lateResult']> }) {
  return (
    <>
      {isError ? 'an error' : 'a result'}, <Moment at={at} /> <Code text={digest} />
    </>
  );
}

function Seal({ view: { seal, sealIntact } }: { view: RecordView }) {
  return (
    <section class="card">
      <h2>
        Seal <span class={`badge ${sealIntact ? 'good' : 'bad'}`}>{sealIntact ? 'intact' : 'broken'}</span>
      </h2>
      <Facts
        rows={[
          ['Recorded', <Code text={seal.recorded} />],
          ['Recomputed just now', <Code text={seal.recomputed} />],
        ]}
      />
      <details>
        <summary>The sealed text</summary>
        <p class="hint">
          The JSON answer of this address has the text byte for byte, so that any reader can compute its SHA-256 digest.
        </p>
        <pre class="json">
          <Visible text={seal.text} notation="json" />
        </pre>
      </details>
    </section>
  );
}

/** All records of one call, usually one. */
export function CallPage({ items, isWhole }: { items: readonly [RecordView, ...RecordView[]]; isWhole: boolean }) {
  if (items.length === 1) return <RecordPage view={items[0]} />;
  return (
    <>
      <ToTheList />
      <h1>{isWhole ? `The same call, ${items.length} times` : `The same call, its ${items.length} newest records`}</h1>
      <p>
        Same tool, same arguments: <Code text={items[0].callDigest} />
      </p>
      <p class="soft">Each call was a separate task with its own decisions. No call is a retry of another.</p>
      <RecordRows items={items} />
      {!isWhole && (
        <p class="audit-more">
          <a class="button" href={addressOf(LIST, { callDigest: items[0].callDigest })}>
            All records of this call
          </a>
        </p>
      )}
    </>
  );
}

const DID_RUN = { yes: ['Yes', 'info'], no: ['No', 'info'], unknown: ['Unknown', 'warn'] } as const;
/** An auditor has to examine these decisions in any case. */
const toneOf = (by: Decider) => (['break_glass', 'not_stated', 'unreadable'].includes(by) ? 'warn' : 'info');

/** The five questions that an auditor asks, each with its answer and the reason for it. */
function Questions({ answers }: { answers: Answers }) {
  const { didRun, call, whoDecided, terminalBeforeExecution: terminal, couldRunTwice: twice } = answers;
  const [ran, ranTone] = DID_RUN[didRun.answer];
  return (
    <section class="audit-questions" aria-label="The five questions">
      <Question ask="Did it run?" answer={ran} tone={ranTone}>
        <p>{didRun.why}</p>
      </Question>
      <Question ask="On whose decision?" answer={<Deciders of={whoDecided} />} tone={toneOf(whoDecided.by)}>
        <p>{whoDecided.why}</p>
      </Question>
      <Question ask="Which call was it?" answer={<Visible text={call.tool} />} tone="info">
        <p>
          <Code text={call.callDigest} />
        </p>
        <p>{call.why}</p>
      </Question>
      <Question
        ask={`Did the ${terminal.verdict} come first?`}
        answer={terminal.wasDecidedBeforeExecution ? 'Yes' : 'Not shown'}
        tone={terminal.wasDecidedBeforeExecution ? 'info' : 'bad'}
      >
        <p>{terminal.why}</p>
      </Question>
      <Question
        ask="Could it have run twice?"
        answer={twice.answer === 'no' ? 'No' : 'Unknown'}
        tone={twice.answer === 'no' ? 'info' : 'bad'}
      >
        <p>{twice.why}</p>
        <Siblings siblings={twice.siblings} />
      </Question>
    </section>
  );
}

interface QuestionProps {
  readonly ask: string;
  readonly answer: ComponentChildren;
  readonly tone: 'info' | 'warn' | 'bad';
  readonly children: ComponentChildren;
}

function Question({ ask, answer, tone, children }: QuestionProps) {
  return (
    <div class={`card audit-question audit-${tone}`}>
      <h2>{ask}</h2>
      <p class="audit-answer">{answer}</p>
      {children}
    </div>
  );
}

function Siblings({ siblings }: { siblings: Answers['couldRunTwice']['siblings'] }) {
  if (siblings.length === 0) return null;
  return (
    <ul class="audit-siblings">
      {siblings.map(({ taskId, state, outcomeRef }) => (
        <li key={taskId}>
          {outcomeRef ? (
            <a href={`/outcome-records/${outcomeRef}`}>
              <Code text={taskId} />
            </a>
          ) : (
            <Code text={taskId} />
          )}{' '}
          {state.replaceAll('_', ' ')}
        </li>
      ))}
    </ul>
  );
}
