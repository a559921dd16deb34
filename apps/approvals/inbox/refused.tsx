import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { Time } from '../../shared/pages/layout.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import type { BrokenGlass } from '../stores/break-glass.store.ts';
import { DECIDED } from './view.tsx';

/** The most characters of a text field, as browsers count them. */
export const LONGEST_TEXT = 2_000;

/** The text of a form that was refused. */
export interface Typed {
  readonly form:
    | 'vote'
    | 'grant'
    | 'extension'
    | 'hand-over'
    | 'question'
    | 'answer'
    | 'break-glass'
    | 'review'
    | 'withdrawal'
    | 'preview';
  readonly text: string | undefined;
  readonly presetReason?: string | undefined;
  /** For the agent. */
  readonly agentMessage?: string | undefined;
  /** Of the question that was answered. */
  readonly number?: number | undefined;
  /** The approver for whom the visitor wanted to decide. */
  readonly onBehalfOf?: string | undefined;
}

/** A refused form: the reason, and its text. */
export interface Refused {
  readonly title: string;
  readonly nextStep: string;
  readonly typed: Typed;
}

interface DecidedProps {
  readonly request: AccessRequest;
  readonly broken: BrokenGlass | undefined;
  readonly people: Directory;
}

/** The props of the forms without a verdict. */
export interface FormProps {
  readonly request: AccessRequest;
  readonly csrfToken: string;
  /** The text of a refused attempt. */
  readonly typed: string | undefined;
}

/** The refused text, for the form that it came from. */
export const textFor = (form: Typed['form'], refused: Refused | undefined): string | undefined =>
  refused?.typed.form === form ? refused.typed.text : undefined;

/** Says at the top of the page why the form was refused and who decided first. It keeps the typed text when the form is gone. */
export function RefusedNotice({ refused, outcome, isKept, ...decided }: DecidedProps & RefusedNoticeProps) {
  const { title, nextStep, typed } = refused;
  return (
    // The tab keeps the text of a form that is still there: its person may have to sign in before they send it again.
    <div class="notice warn" role="alert" tabIndex={-1} autofocus data-refused={isKept ? '' : undefined}>
      <strong>{title}.</strong>
      <p>{nextStep}</p>
      <Decided {...decided} />
      <p>{outcome}</p>
      {!isKept && typed.text !== undefined && typed.text.trim() !== '' && (
        <div>
          <label for="typed">Your text, which was not recorded</label>
          <textarea id="typed" readOnly value={typed.text} />
        </div>
      )}
    </div>
  );
}

interface RefusedNoticeProps {
  readonly refused: Refused;
  /** The current state of the request. */
  readonly outcome: string;
  /** Whether the form is still on the page and shows the typed text. */
  readonly isKept: boolean;
}

/** Names the person who decided last or ended the request, and when; empty if no person did. */
export function Decided({ request, broken, people }: DecidedProps) {
  const last = lastAct(request, broken);
  if (last === undefined) return null;
  const { by, inPlaceOf, did, at } = last;
  return (
    <p>
      <strong>
        <Visible text={nameOf(people, by)} />
      </strong>
      {inPlaceOf !== undefined && (
        <>
          {', on behalf of '}
          <Visible text={nameOf(people, inPlaceOf)} />,
        </>
      )}{' '}
      {did} <Time at={at} />.
    </p>
  );
}

/** A person's name in the directory, followed by the subject that the rest of the page shows. */
function nameOf(people: Directory, subject: string): string {
  const name = people.find(subject)?.displayName;
  return name === undefined || name === subject ? subject : `${name} (${subject})`;
}

interface Act {
  readonly by: string;
  readonly inPlaceOf?: string;
  readonly did: string;
  readonly at: string;
}

function lastAct({ votes, cancelled, endedAt }: AccessRequest, broken: BrokenGlass | undefined): Act | undefined {
  if (broken !== undefined) return { by: broken.grantedBy, did: 'granted this in an emergency', at: broken.at };
  const canceller = cancelled?.subject ?? cancelled?.client;
  if (canceller !== undefined && endedAt !== undefined) return { by: canceller, did: 'cancelled this', at: endedAt };
  const vote = votes.at(-1);
  if (vote === undefined) return undefined;
  const { approver, castBy, verdict, at } = vote;
  return {
    by: castBy ?? approver.subject,
    ...(castBy !== undefined && { inPlaceOf: approver.subject }),
    did: `${DECIDED[verdict]} this`,
    at,
  };
}
