import type { ListChoice } from '../listing.ts';

const READER = `jsonb_to_record($1::jsonb) AS me (subject text, persons text[], actors text[], reads boolean, decides boolean, oversees boolean,
    is_person boolean, breaks_glass boolean, voices jsonb, "all" jsonb),
  jsonb_to_record(me."all") AS everyone (subjects text[], roles text[], groups text[], reports text[])`;
const VOICES = `(SELECT ARRAY[subject] AS subjects, voice.* FROM jsonb_to_recordset(me.voices)
  AS voice (subject text, roles text[], groups text[], reports text[])) AS voice`;

/** Whether the voice, or one of them, belongs to those who decide a stage. @see belongsTo */
const decides = (stage: string, voice: 'voice' | 'everyone') => `(
  ${stage} #> '{approvers,people}' ?| ${voice}.subjects OR ${stage} #> '{approvers,owners,people}' ?| ${voice}.subjects
  OR ${stage} #> '{approvers,roles}' ?| ${voice}.roles
  OR ${stage} #> '{approvers,groups}' ?| ${voice}.groups OR ${stage} #> '{approvers,owners,groups}' ?| ${voice}.groups
  OR ${stage} #> '{approvers,requesterManager}' = 'true' AND r.requester_subject = ANY (${voice}.reports))`;

/** For `r`, `me` and `everyone`: whether the reader may read the request. @see mayRead */
const READABLE = `me.reads AND (
  me.oversees
  OR me.is_person AND r.requester_subject = me.subject
  OR me.breaks_glass AND r.status = 'pending'
  OR EXISTS (SELECT FROM jsonb_array_elements(r.stages) AS stages (stage) WHERE ${decides('stages.stage', 'everyone')})
  OR r.end_note #>> '{by,subject}' = me.subject
  OR EXISTS (SELECT FROM approvals.vote v WHERE v.access_request_id = r.id AND me.subject IN (v.approver_subject, v.cast_by))
  OR EXISTS (SELECT FROM approvals.revocation b WHERE b.access_request_id = r.id AND b.by_subject = me.subject)
  OR me.is_person AND EXISTS (SELECT FROM approvals.break_glass g WHERE g.access_request_id = r.id
    AND (g.reviewed_by IS NULL OR me.subject IN (g.granted_by, g.reviewed_by))))`;

/** The same: whether the reader may vote now, in their own name or in that of another. @see ineligibilityOf, earlierVote */
const DECIDABLE = `me.decides AND r.status = 'pending' AND ${decides('(r.stages -> r.stage - 1)', 'everyone')}
  AND EXISTS (SELECT FROM ${VOICES}
  WHERE ${decides('(r.stages -> r.stage - 1)', 'voice')}
    AND NOT (voice.subject || me.persons) && r.parties
    AND NOT EXISTS (SELECT FROM approvals.vote v WHERE v.access_request_id = r.id AND (r.separate_stages OR v.stage = r.stage)
      AND (ARRAY[v.approver_subject, v.cast_by] || v.actors) && (ARRAY[voice.subject, me.subject] || me.actors))
    AND NOT (voice.subject || me.persons) && approvals.delegates_of(r.parties, r.created_at))`;

const ENDED = 'r.ended_at IS NOT NULL';

/** The reader (first parameter) and the condition, for a statement that reads requests as `r`. */
export function whereListed(choice: ListChoice): string {
  if (choice === 'yours') return `, ${READER} WHERE ${DECIDABLE}`;
  if (choice === 'pending') return whereReadable("r.status = 'pending'");
  // The database has an index of all that have ended, and sees that this is the one only where that is said.
  return whereReadable(choice === 'ended' ? ENDED : `${ENDED} AND r.status = '${choice}'`);
}

/** The same for those of a condition that the reader may read. */
export const whereReadable = (condition: string): string => `, ${READER} WHERE ${condition} AND ${READABLE}`;
