import type { AccessRequest } from '../../../workflows/domain/access-request/access-request.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { Time } from '../../shared/pages/layout.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import type { BrokenGlass } from '../stores/break-glass.store.ts';
import { DECIDED } from './view.tsx';

/** What a visitor wrote into a form that was refused. */
export interface Typed {
  readonly form: 'vote' | 'break-glass' | 'review' | 'withdrawal';
  readonly text: string | undefined;
  /** In whose place they wanted to decide. */
  readonly onBehalfOf?: string | undefined;
}

/** Why a form was refused, and what was in it. */
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

/** What was typed, for the form that it was typed into. */
export const textFor = (form: Typed['form'], refused: Refused | undefined): string | undefined =>
  refused?.typed.form === form ? refused.typed.text : undefined;

/** Says at the top of the page what was refused and who was first. What was typed stands here when no form has it any more. */
export function RefusedNotice({ refused, outcome, isKept, ...decided }: DecidedProps & RefusedNoticeProps) {
  const { title, nextStep, typed } = refused;
  return (
    <div class="notice warn" role="alert" tabIndex={-1} autofocus>
      <strong>{title}.</strong>
      <p>{nextStep}</p>
      <Decided {...decided} />
      <p>{outcome}</p>
      {!isKept && typed.text !== undefined && typed.text.trim() !== '' && (
        <div>
          <label for="typed">What you wrote, which was not recorded</label>
          <textarea id="typed" readOnly value={typed.text} />
        </div>
      )}
    </div>
  );
}

interface RefusedNoticeProps {
  readonly refused: Refused;
  /** How the request stands now. */
  readonly outcome: string;
  /** Whether the form still has what was typed. */
  readonly isKept: boolean;
}

/** Who decided last, or ended the request, by the name that the directory has for them, and when; nothing where no person did. */
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
          {', in the place of '}
          <Visible text={nameOf(people, inPlaceOf)} />,
        </>
      )}{' '}
      {did} <Time at={at} />.
    </p>
  );
}

/** The name that the directory has for a person, with the subject by which the page knows them otherwise. */
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
