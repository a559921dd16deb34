import type { QueryResultRow } from 'pg';
import type { Ineligibility } from '../../../workflows/domain/access-request/eligibility.ts';
import type { Approver } from '../../../workflows/domain/access-request/access-request.ts';
import { keysOf } from '../../../workflows/domain/access-request/same-person.ts';
import { countRows, type Listing, type Page, type PageRequest, readPage } from '../../shared/database/pages.ts';
import type { Query } from '../../shared/database/query.ts';
import { callFunction, instant, snakeCased } from './query.ts';

/** A question to the requester, as a person asks it. */
export interface NewQuestion {
  readonly requestId: string;
  /** With the names behind them (`behind`). */
  readonly by: Omit<Approver, 'roles'> & { readonly chain: readonly string[] };
  /** The approver in whose place they ask, or themselves. */
  readonly approver: Pick<Approver, 'subject' | 'aliases'>;
  readonly delegationId: string | undefined;
  /** The stage that they looked at, and the one for which they were checked as eligible. */
  readonly stage: number;
  readonly judgedStage: number;
  /** One more than the questions of theirs that they saw. */
  readonly number: number;
  readonly question: string;
  readonly via: 'inbox' | 'api';
}

export type QuestionOutcome =
  | 'asked'
  | 'repeated'
  | 'asked_before'
  | 'too_many_questions'
  | 'no_person'
  | 'already_voted'
  | 'delegation_over'
  | 'final'
  | 'stage_over'
  | Ineligibility
  | 'not_found';

/** The answer to a question, from the browser of the requester. */
export interface NewAnswerOfRequester {
  readonly requestId: string;
  /** Of the question. */
  readonly number: number;
  /** Id of the browser session. */
  readonly session: string;
  readonly answer: string;
}

export type AnswerOutcome =
  | 'answered'
  | 'repeated'
  | 'answered_before'
  | 'no_question'
  | 'not_requester'
  | 'final'
  | 'not_found';

/** An open request whose approvers wait for an answer of its requester. */
export interface AskedRequest extends QueryResultRow {
  readonly id: string;
  readonly tool: string;
  /** Questions without an answer. */
  readonly questions: number;
  /** When the first of them was asked (RFC 3339). */
  readonly since: string;
}

export type AskedRequests = Page<AskedRequest> & { readonly count: number };

interface Named {
  readonly issuer: string;
  /** All names that the issuer gives them. */
  readonly names: readonly string[];
}

/** Questions of approvers to the requester, and the answers. */
export const requesterQuestions = (query: Query) => ({
  askRequester: ({ by, approver, ...question }: NewQuestion) => {
    const { issuer, subject, aliases = [], name, chain } = by;
    const names = keysOf([subject, ...aliases, approver.subject, ...(approver.aliases ?? [])]);
    const people = { by_issuer: issuer, by_subject: subject, by_name: name, approver_subject: approver.subject };
    return callFunction<QuestionOutcome>(query, 'ask_requester', {
      ...{ ...snakeCased(question), ...people },
      ...{ names, chain: keysOf(chain) },
    });
  },

  answerAsRequester: (answer: NewAnswerOfRequester) =>
    callFunction<AnswerOutcome>(query, 'answer_as_requester', snakeCased(answer)),

  /** A page of the open requests of this person with questions to them, those that have waited longest first, with their total. */
  async askedOf({ issuer, names }: Named, page: PageRequest): Promise<AskedRequests> {
    const listing: Listing = {
      name: 'asked-of',
      columns: `id, tool, questions, ${instant('asked.since')} AS since`,
      from: `FROM (
        SELECT r.id, r.tool, count(*)::int AS questions, min(q.at) AS since
        FROM approvals.access_request r JOIN approvals.requester_question q ON q.access_request_id = r.id
          LEFT JOIN approvals.requester_answer a ON (a.access_request_id, a.number) = (q.access_request_id, q.number)
        WHERE r.status = 'pending' AND r.requester_issuer = $1 AND r.requester_subject = ANY ($2)
          AND r.requester_client IS DISTINCT FROM r.requester_subject AND a.number IS NULL
        GROUP BY r.id) AS asked WHERE true`,
      ...{ at: 'asked.since', id: 'asked.id', order: 'oldest' },
      values: [issuer, names],
    };
    const asked = await readPage<AskedRequest>(query, listing, page);
    // Every list asks for it, and most people have none.
    const isAll = page.cursor === undefined && asked.next === undefined;
    return { ...asked, count: isAll ? asked.rows.length : await countRows(query, listing) };
  },
});
