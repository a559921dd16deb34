/** Questions of one request that may wait for an answer, and that may be asked in all. `approvals.ask_requester` has the same figures. */
export const MAX_OPEN_QUESTIONS = 5;
export const MAX_QUESTIONS = 20;

/** An approver asked the requester a question. It decides nothing. Instants are RFC 3339. */
export interface RequesterQuestion {
  /** Counted from 1. */
  readonly number: number;
  /** The stage that was open, counted from 1. */
  readonly stage: number;
  readonly by: { readonly issuer: string; readonly subject: string };
  /** Subject of the approver in whose place the person asked. */
  readonly onBehalfOf?: string;
  readonly question: string;
  readonly at: string;
  readonly answer?: { readonly text: string; readonly at: string };
}

interface Asked {
  readonly requester: { readonly issuer?: string; readonly subject: string; readonly clientId?: string };
  readonly questions?: readonly RequesterQuestion[];
}

/** The questions that wait for an answer. */
export const unanswered = ({ questions = [] }: Pick<Asked, 'questions'>): RequesterQuestion[] =>
  questions.filter(({ answer }) => answer === undefined);

/**
 * The person for whom an agent asks, who can answer questions; undefined when there is none. A program that asks for itself has the name of
 * its client, and a person without a known issuer cannot be told from another of the same name.
 */
export function requesterPerson({ requester: { issuer, subject, clientId } }: Pick<Asked, 'requester'>) {
  return issuer === undefined || subject === clientId ? undefined : { issuer, subject };
}

/** Whether the request can get another question. */
export const canBeAsked = (request: Asked): boolean =>
  requesterPerson(request) !== undefined &&
  unanswered(request).length < MAX_OPEN_QUESTIONS &&
  (request.questions ?? []).length < MAX_QUESTIONS;
