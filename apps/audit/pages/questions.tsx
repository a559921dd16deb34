import type { ComponentChildren } from 'preact';
import type { Answers } from '../../../workflows/domain/gated-call/outcome-answers.ts';
import type { Decider } from '../../../workflows/domain/gated-call/who-decided.ts';
import { Deciders } from './people.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';

const DID_RUN = { yes: ['Yes', 'info'], no: ['No', 'info'], unknown: ['Unknown', 'warn'] } as const;
/** What an auditor has to look into, whatever else is so. */
const toneOf = (by: Decider) => (['break_glass', 'not_stated', 'unreadable'].includes(by) ? 'warn' : 'info');

/** The five questions that an auditor asks, each with its answer and the reason for it. */
export function Questions({ answers }: { answers: Answers }) {
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
