import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import type { RequesterQuestion } from '../../../workflows/domain/access-request/requester-question.ts';
import { Time } from '../../shared/pages/layout.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { AskedRequests } from '../stores/requester-questions.ts';
import { useRequestAddress } from './near.tsx';
import { PageLinks } from './paging.tsx';
import { LONGEST_TEXT, textFor, type Refused } from './refused.tsx';
import { isAskedIn, questionBy, type Seat } from './seat.ts';

interface QuestionsProps {
  readonly request: AccessRequest;
  readonly seat: Seat;
  readonly csrfToken: string;
  readonly refused: Refused | undefined;
}

/** Questions of approvers to the requester, with the answers. The requester finds a form at each question that waits. */
export function Questions({ request, seat, csrfToken, refused }: QuestionsProps) {
  const { questions = [], id, endedAt } = request;
  if (questions.length === 0) return null;
  const isAsked = isAskedIn(request, seat);
  return (
    <section class="card" id="questions" aria-labelledby="questions-title">
      <h2 id="questions-title">{isAsked ? 'Questions to you' : 'Questions to the requester'}</h2>
      {isAsked && (
        <p>
          The approvers of this request ask you. An answer decides nothing, and the request ends when it ends. All who
          can read the request see your answer, and it is kept on record.
        </p>
      )}
      <ol class="votes">
        {questions.map((question) => (
          <li key={question.number}>
            <Question question={question} />
            {question.answer !== undefined ? (
              <Answer answer={question.answer} />
            ) : isAsked ? (
              <AnswerForm {...{ id, csrfToken, number: question.number, typed: typedAt(question.number, refused) }} />
            ) : (
              <p class="soft">{endedAt === undefined ? 'Waits for an answer.' : 'The requester did not answer.'}</p>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Question({ question: { by, onBehalfOf, question, at } }: { question: RequesterQuestion }) {
  return (
    <>
      <strong>
        <Visible text={by.subject} />
      </strong>
      {onBehalfOf !== undefined && (
        <>
          {', on behalf of '}
          <Visible text={onBehalfOf} />,
        </>
      )}{' '}
      asked <Time at={at} />
      <p>
        “<Visible text={question} />”
      </p>
    </>
  );
}

const Answer = ({ answer: { text, at } }: { answer: NonNullable<RequesterQuestion['answer']> }) => (
  <>
    <strong>The requester</strong> answered <Time at={at} />
    <p>
      “<Visible text={text} />”
    </p>
  </>
);

const typedAt = (number: number, refused: Refused | undefined) =>
  refused?.typed.number === number ? textFor('answer', refused) : undefined;

interface AnswerFormProps {
  readonly id: string;
  readonly csrfToken: string;
  readonly number: number;
  readonly typed: string | undefined;
}

function AnswerForm({ id, csrfToken, number, typed }: AnswerFormProps) {
  const field = `answer-${number}`;
  return (
    <form class="decision" id={`${field}-form`} method="post" action={useRequestAddress()(id, 'answers')}>
      <input type="hidden" name="csrfToken" value={csrfToken} />
      <input type="hidden" name="number" value={String(number)} />
      <div>
        <label for={field}>Your answer</label>
        <textarea id={field} name="answer" required maxLength={LONGEST_TEXT} value={typed} />
      </div>
      <div class="decision-buttons">
        <button type="submit">Answer</button>
      </div>
    </form>
  );
}

/** The form with which an approver asks the requester. Folded, since most requests need no question. */
export function AskForm({ request, seat, csrfToken, refused }: QuestionsProps) {
  const addressOf = useRequestAddress();
  const number = questionBy(seat, request);
  if (number === undefined) return null;
  return (
    <section class="card" aria-labelledby="ask">
      <details open={refused?.typed.form === 'question'}>
        <summary id="ask">Ask the requester</summary>
        <form class="decision" method="post" action={addressOf(request.id, 'questions')}>
          <input type="hidden" name="csrfToken" value={csrfToken} />
          <input type="hidden" name="stage" value={String(request.stage)} />
          <input type="hidden" name="number" value={String(number)} />
          <p>
            <Visible text={request.requester.subject} /> can answer in this inbox. A question decides nothing, and the
            request does not wait for the answer.
          </p>
          <div>
            <label for="question">Your question</label>
            <textarea
              id="question"
              name="question"
              required
              maxLength={LONGEST_TEXT}
              aria-describedby="question-hint"
              value={textFor('question', refused)}
            />
            <p class="hint" id="question-hint">
              All who can read the request see it, and it is kept on record with your name.
            </p>
          </div>
          <div class="decision-buttons">
            <button type="submit">Ask</button>
          </div>
        </form>
      </details>
    </section>
  );
}

interface QuestionsToYouProps {
  readonly asked: AskedRequests;
  /** Query parameters of the page. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly isFolded: boolean;
}

/** The visitor's own requests whose approvers wait for an answer, shown above every list. Above requests, they are folded to one line. */
export function QuestionsToYou({ asked, parameters, isFolded }: QuestionsToYouProps) {
  if (asked.rows.length === 0) return null;
  return (
    <section class="notice warn above-list" aria-labelledby="questions-to-you">
      <details open={!isFolded}>
        <summary>
          <strong id="questions-to-you">
            Approvers ask you about your own requests: {asked.count.toLocaleString('en')}
          </strong>
        </summary>
        <ul>
          {asked.rows.map(({ id, tool, questions, since }) => (
            <li key={id}>
              <a href={`/requests/${encodeURIComponent(id)}#questions`}>
                {questions === 1 ? '1 question' : `${questions} questions`} about <Code text={tool} />
              </a>
              , since <Time at={since} />
            </li>
          ))}
        </ul>
        <PageLinks page={asked} of="questions" path="/requests" parameters={parameters} name="questionsCursor" />
      </details>
    </section>
  );
}
