import type {
  AccessRequestStatus,
  Verdict,
  VoteChannel,
} from '../../../workflows/domain/access-request/access-request.ts';
import type { Query } from '../../shared/database/query.ts';
import { instant } from './query.ts';

/** A person in a statement. */
interface Person {
  readonly issuer?: string;
  readonly subject: string;
  /** Their display name at that time. */
  readonly name?: string;
}

/** What is needed to check the signature of a passkey. Binary values are base64url texts. @see PasskeyAssertion */
type PasskeyStatement = Readonly<
  Record<
    'credential_id' | 'public_key' | 'authenticator_data' | 'client_data_json' | 'signature' | 'challenge' | 'nonce',
    string
  >
>;

/** Who resolved a request and how, for the enforcement point that submitted it. */
export interface Statement {
  readonly id: string;
  readonly status: AccessRequestStatus;
  readonly template?: string;
  readonly stages: readonly { readonly name: string; readonly quorum: number }[];
  readonly votes: readonly {
    readonly approver: Person;
    readonly cast_by?: Person;
    /** Subjects that acted for them, from the `act` chain of their token, the last first. */
    readonly actors?: readonly string[];
    /** The approver is the requester, who confirmed what their own agent asked for. */
    readonly as_requester?: true;
    readonly verdict: Verdict;
    readonly reason?: string;
    /** The approver's words for the agent. */
    readonly message_for_agent?: string;
    readonly via: VoteChannel;
    /** The signature of the voter's passkey under this vote. */
    readonly passkey?: PasskeyStatement;
    /** The grant that cast it. */
    readonly grant?: string;
    /** Digest of the preview on the page from which the vote came. */
    readonly preview?: string;
    readonly stage: number;
    /** It no longer counted when the stage was settled. */
    readonly lapsed?: true;
    readonly at: string;
  }[];
  /** More time that approvers gave a stage: its end moved from one instant to the other. */
  readonly extensions?: readonly {
    readonly by: Person;
    readonly stage: number;
    readonly from: string;
    readonly to: string;
    readonly reason?: string;
    readonly via: string;
    readonly at: string;
  }[];
  /** Approvers who handed the request to another person. The issuer is that of both. */
  readonly hand_overs?: readonly {
    readonly by: Person;
    readonly to: string;
    readonly at: string;
    readonly revoked_at?: string;
  }[];
  /** Questions of approvers to the requester, with the answers. */
  readonly questions?: readonly {
    readonly by: Person;
    /** The approver in whose place the person asked. */
    readonly on_behalf_of?: string;
    readonly stage: number;
    readonly question: string;
    readonly via: string;
    readonly at: string;
    /** The requester's own, from a browser. */
    readonly answer?: { readonly text: string; readonly at: string };
  }[];
  readonly break_glass?: { readonly by: Person; readonly reason: string; readonly via: string; readonly at: string };
  readonly cancelled?: {
    readonly by: Person | { readonly client: string };
    readonly reason?: string;
    readonly via?: string;
    readonly at?: string;
  };
}

// Null members (no name known, no reason given) are left out.
const SELECT = `
  SELECT json_strip_nulls(json_build_object('id', r.id, 'status', r.status, 'template', r.template,
    'stages', (SELECT json_agg(json_build_object('name', stage -> 'name', 'quorum', stage -> 'quorum') ORDER BY position)
      FROM jsonb_array_elements(r.stages) WITH ORDINALITY AS stages (stage, position)),
    'votes', (SELECT coalesce(json_agg(json_build_object(
        'approver', json_build_object('issuer', v.approver_issuer, 'subject', v.approver_subject, 'name', v.approver_name),
        'cast_by', CASE WHEN v.delegation_id IS NOT NULL
          THEN json_build_object('issuer', v.approver_issuer, 'subject', v.cast_by, 'name', v.cast_by_name) END,
        'actors', CASE WHEN v.actors <> '{}' THEN v.actors END, 'as_requester', CASE WHEN v.as_requester THEN true END,
        'verdict', v.verdict, 'reason', v.reason, 'message_for_agent', v.agent_message, 'via', v.via, 'grant', v.grant_id, 'preview', v.preview_digest, 'stage', v.stage,
        'passkey', CASE WHEN v.passkey_assertion IS NOT NULL THEN json_build_object(
          'credential_id', v.passkey_assertion -> 'credentialId', 'public_key', v.passkey_assertion -> 'publicKey',
          'authenticator_data', v.passkey_assertion -> 'authenticatorData',
          'client_data_json', v.passkey_assertion -> 'clientDataJSON', 'signature', v.passkey_assertion -> 'signature',
          'challenge', v.passkey_assertion -> 'challenge',
          'nonce', v.passkey_assertion -> 'nonce') END,
        'lapsed', CASE WHEN l.approver_subject IS NOT NULL THEN true END, 'at', ${instant('v.at')}) ORDER BY v.at), '[]')
      FROM approvals.vote v LEFT JOIN approvals.lapsed_approval l USING (access_request_id, stage, approver_subject)
      WHERE v.access_request_id = r.id),
    'extensions', (SELECT json_agg(json_build_object('by', json_build_object('issuer', e.by_issuer, 'subject', e.by_subject,
        'name', e.by_name), 'stage', e.stage, 'from', ${instant('e.ends_before')}, 'to', ${instant('e.ends_after')},
        'reason', e.reason, 'via', e.via, 'at', ${instant('e.at')}) ORDER BY e.stage, e.number)
      FROM approvals.extension e WHERE e.access_request_id = r.id),
    'hand_overs', (SELECT json_agg(json_build_object('by', json_build_object('issuer', d.delegator_issuer, 'subject', d.delegator_subject),
        'to', d.delegate_subject, 'at', ${instant('d.created_at')}, 'revoked_at', ${instant('d.revoked_at')}) ORDER BY d.created_at)
      FROM approvals.delegation d WHERE d.access_request_id = r.id),
    'questions', (SELECT json_agg(json_build_object('by', json_build_object('issuer', q.by_issuer, 'subject', q.by_subject,
        'name', q.by_name), 'on_behalf_of', q.on_behalf_of, 'stage', q.stage, 'question', q.question, 'via', q.via, 'at', ${instant('q.at')},
        'answer', CASE WHEN w.number IS NOT NULL THEN json_build_object('text', w.answer, 'at', ${instant('w.at')}) END) ORDER BY q.number)
      FROM approvals.requester_question q LEFT JOIN approvals.requester_answer w USING (access_request_id, number)
      WHERE access_request_id = r.id),
    'break_glass', (SELECT json_build_object('by', json_build_object('issuer', b.issuer, 'subject', b.granted_by,
        'name', b.granted_by_name), 'reason', b.reason, 'via', b.via, 'at', ${instant('b.at')})
      FROM approvals.break_glass b WHERE b.access_request_id = r.id),
    'cancelled', CASE WHEN r.end_note IS NOT NULL THEN json_build_object('by', r.end_note -> 'by',
      'reason', coalesce(r.end_note ->> 'comment', r.end_note ->> 'reason'), 'via', r.end_note -> 'via',
      'at', ${instant('r.ended_at')}) END)) AS statement
  FROM approvals.access_request r WHERE r.id = ANY ($1) ORDER BY array_position($1, r.id)`;

export function statements(query: Query) {
  return {
    /** One statement for each request, in the order of `ids`. */
    statementsOf: async (ids: readonly string[]) =>
      (await query<{ statement: Statement }>('statements', SELECT, [ids])).map(({ statement }) => statement),
  };
}
