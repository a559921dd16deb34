import {
  type Around,
  countRows,
  type Listing,
  type Page,
  type PageRequest,
  readAround,
  readPage,
} from '../../shared/database/pages.ts';
import { inUtc } from '../../shared/database/function-call.ts';
import type { Query } from '../../shared/database/query.ts';
import type { Effect } from '../../../workflows/domain/tools/tool-facts.ts';
import { KINDS_COUNTED, type ListChoice, type ReaderRow, type RequestFilter, type RequestOrder } from '../listing.ts';
import {
  accessRequestFrom,
  type AccessRequestRow,
  type AccessRequestSummary,
  FROM_ACCESS_REQUESTS,
  SUMMARY_COLUMNS,
} from './access-request.row.ts';

interface RequestListing {
  readonly choice: ListChoice;
  readonly order: RequestOrder;
  readonly filter: RequestFilter;
  readonly reader: ReaderRow;
}

const isOpen = (choice: ListChoice) => choice === 'pending' || choice === 'yours';

const listingOf = ({ choice, order, filter, reader }: RequestListing): Listing => {
  const names = namesIn(filter);
  return {
    name: ['list', choice, ...(order === 'soonest' ? [order] : []), ...names].join('-'),
    columns: `${SUMMARY_COLUMNS}, ${ALIKE} AS alike, ${EMERGENCY} AS emergency`,
    from: `${FROM_ACCESS_REQUESTS}, ${FILTER}${whereListed(choice)}${filteredBy(names)}`,
    at: order === 'soonest' ? 'least(r.expires_at, r.stage_ends_at)' : isOpen(choice) ? 'r.created_at' : 'r.ended_at',
    id: 'r.id',
    order: order === 'newest' ? 'newest' : 'oldest',
    values: [reader, filterRow(filter)],
  };
};

/** Lists of access requests: open requests by creation time, ended requests by end time. */
export function lists(query: Query) {
  return {
    /** A page of the list, with the total for open requests. Requests past their deadline are ended first. */
    async list(listing: RequestListing, page: PageRequest): Promise<RequestPage> {
      await query('carry-out-due', 'SELECT count(*) FROM approvals.carry_out_due(1000)');
      const listed = listingOf(listing);
      const { rows, ...rest } = await readPage<
        AccessRequestRow & Pick<ListedRequest, 'alike'> & { readonly emergency: ListedRequest['emergency'] | null }
      >(query, listed, page);
      const count = isOpen(listing.choice) ? await countRows(query, listed) : undefined;
      const listedRows = rows.map(({ alike, emergency, ...row }) => ({
        ...accessRequestFrom(row),
        alike,
        ...(emergency && { emergency }),
      }));
      return { ...rest, rows: listedRows, ...(count !== undefined && { count }) };
    },

    /** What is around a request in a list, in which it may not be any more. Undefined if it never had a place there. */
    async around(listing: RequestListing, id: string): Promise<AroundRequest | undefined> {
      const listed = listingOf(listing);
      const [here] = await query<{ at: string | null }>(
        `place-${listed.at}`,
        `SELECT ${inUtc(listed.at)} AS at FROM approvals.access_request r WHERE r.id = $1`,
        [id],
      );
      const at = here?.at;
      if (typeof at !== 'string') return undefined;
      const found = await readAround<AccessRequestRow & { readonly alike: string }>(query, listed, { at, id });
      const { previous, next, ...counts } = found;
      return {
        ...counts,
        ...(previous && { previous: accessRequestFrom(previous) }),
        ...(next && { next: accessRequestFrom(next) }),
      };
    },

    /** The requests that the reader may read in an open list, counted by kind: what the filters of that list can choose from. */
    kinds: (choice: 'pending' | 'yours', reader: ReaderRow) =>
      query<RequestKind>(
        `kinds-${choice}`,
        `SELECT r.tool, r.requester_client AS agent, r.requester_subject AS requester, r.effect, ${ALIKE} AS alike,
           count(*)::int AS count
         ${FROM_ACCESS_REQUESTS}${whereListed(choice)} GROUP BY 1, 2, 3, 4, 5 ORDER BY 6 DESC LIMIT ${KINDS_COUNTED}`,
        [reader],
      ),
  };
}

/** A request of a list. Requests with the same `alike` ask for the same tool, for the same people, with arguments of the same shape. */
export type ListedRequest = AccessRequestSummary & {
  readonly alike: string;
  /** Who granted it in an emergency. */
  readonly emergency?: { readonly by: string };
};
export type RequestPage = Page<ListedRequest> & { readonly count?: number };
export type AroundRequest = Around<AccessRequestSummary>;

export interface RequestKind extends Record<'tool' | 'requester' | 'alike', string> {
  readonly agent: string | null;
  readonly effect: Effect | null;
  readonly count: number;
}

/**
 * The database cannot look into JSON that has U+0000 in a string, and one such call would break the list for all readers. So the shape is
 * found by a pattern: in JSON, no string contains a quotation mark without a backslash before it.
 */
const ALIKE = `md5(concat_ws(chr(31), r.tool, r.template, r.requester_client, r.requester_subject,
  coalesce(substring(r.outline FROM '"shape":"([0-9a-f]{64})"'), r.action || r.resource)))`;
const EMERGENCY = `(SELECT json_build_object('by', g.granted_by) FROM approvals.break_glass g WHERE g.access_request_id = r.id)`;
/** The arguments of a call. With U+0000 in it, the whole context, for the same reason. */
const SEARCHED = `CASE WHEN position('\\u0000' IN r.context) > 0 THEN r.context ELSE r.context::json ->> 'arguments' END`;

const FILTER = `jsonb_to_record($2::jsonb) AS f (words text[], tool text, agent text, requester text, effect text, alike text)`;
/** Words are looked for in names and in the arguments, as canonical JSON has them, without regard to upper and lower case. */
const CONDITIONS: Readonly<Record<keyof RequestFilter, string>> = {
  tool: 'r.tool = f.tool',
  agent: 'r.requester_client = f.agent',
  requester: 'r.requester_subject = f.requester',
  effect: 'r.effect = f.effect',
  alike: `${ALIKE} = f.alike`,
  words: `(SELECT bool_and(position(lower(word) IN lower(concat_ws(' ', r.id, r.tool, r.title, r.template, r.requester_subject,
    r.requester_client, r.resource, ${SEARCHED}))) > 0) FROM unnest(f.words) AS words (word))`,
};

/**
 * Names the conditions of the filter, and nothing of what is absent from it. A condition that is always true counts in the planner's
 * estimate, which then expects no more than a row, and sorts all requests instead of reading a page from the index.
 */
const namesIn = (filter: RequestFilter) =>
  (Object.keys(CONDITIONS) as (keyof RequestFilter)[]).filter((name) => filter[name] !== undefined);
const filteredBy = (names: readonly (keyof RequestFilter)[]) =>
  names.map((name) => ` AND ${CONDITIONS[name]}`).join('');

/** Words as the stored texts have them: within the quotes of canonical JSON. */
const filterRow = ({ words, ...filter }: RequestFilter): string =>
  JSON.stringify({
    ...filter,
    words: words && words.map((word) => JSON.stringify(word).slice(1, -1)),
  });

const READER = `jsonb_to_record($1::jsonb) AS me (subject text, issuer text, names text[], persons text[], own text[], reads boolean, decides boolean, oversees boolean,
    is_person boolean, breaks_glass boolean, voices jsonb, handed text[], "all" jsonb),
  jsonb_to_record(me."all") AS everyone (subjects text[], roles text[], groups text[], reports text[])`;
const VOICES = `(SELECT ARRAY[subject] AS subjects, voice.* FROM jsonb_to_recordset(me.voices)
  AS voice (subject text, names text[], roles text[], groups text[], reports text[], request text)) AS voice`;

/** Whether one voice, or any of them, is in the electorate of a stage. @see belongsTo */
const decides = (stage: string, voice: 'voice' | 'everyone') => `(
  ${stage} #> '{approvers,people}' ?| ${voice}.subjects OR ${stage} #> '{approvers,owners,people}' ?| ${voice}.subjects
  OR ${stage} #> '{approvers,roles}' ?| ${voice}.roles
  OR ${stage} #> '{approvers,groups}' ?| ${voice}.groups OR ${stage} #> '{approvers,owners,groups}' ?| ${voice}.groups
  OR ${stage} #> '{approvers,requesterManager}' = 'true' AND r.requester_subject = ANY (${voice}.reports))`;

/** Whether the reader is the requester who may confirm a stage. @see ownNamesIn */
const confirms = (stage: string) =>
  `${stage} #> '{approvers,requester,subjects}' ?| me.own AND ${stage} #>> '{approvers,requester,issuer}' = me.issuer`;

/** Whether the reader (`me`, `everyone`) may read the request (`r`). Prisma's client cannot express it. @see mayRead */
const READABLE = `me.reads AND (
  me.oversees
  OR me.is_person AND (r.requester_subject = me.subject OR r.requester_issuer = me.issuer AND r.requester_subject = ANY (me.own))
  OR EXISTS (SELECT FROM jsonb_array_elements(r.stages) AS stages (stage) WHERE ${confirms('stages.stage')})
  OR me.breaks_glass AND r.status = 'pending'
  OR EXISTS (SELECT FROM jsonb_array_elements(r.stages) AS stages (stage) WHERE ${decides('stages.stage', 'everyone')})
  OR r.id = ANY (me.handed) AND EXISTS (SELECT FROM ${VOICES}, jsonb_array_elements(r.stages) AS stages (stage)
    WHERE voice.request = r.id AND ${decides('stages.stage', 'voice')})
  OR r.end_note #>> '{by,subject}' = me.subject
  OR EXISTS (SELECT FROM approvals.vote v WHERE v.access_request_id = r.id AND me.subject IN (v.approver_subject, v.cast_by))
  OR EXISTS (SELECT FROM approvals.revocation b WHERE b.access_request_id = r.id AND b.by_subject = me.subject)
  OR me.is_person AND EXISTS (SELECT FROM approvals.break_glass g WHERE g.access_request_id = r.id
    AND (g.reviewed_by IS NULL OR me.subject IN (g.granted_by, g.reviewed_by))))`;

/** Whether a voter with these names, or the reader, has spoken where each may speak once. */
const hasVoted = (names: string) =>
  `EXISTS (SELECT FROM approvals.vote v WHERE v.access_request_id = r.id AND (r.separate_stages OR v.stage = r.stage)
      AND v.names && (${names} || me.names))`;

/** The requester who may confirm the open stage. */
const CONFIRMER = `(r.stages -> r.stage - 1) #> '{approvers,requester}'`;

/** Whether the reader may vote on it now, for themselves or for another approver. @see ineligibilityOf, earlierVote */
const DECIDABLE = `me.decides AND r.status = 'pending' AND ((${decides('(r.stages -> r.stage - 1)', 'everyone')} OR r.id = ANY (me.handed))
  AND EXISTS (SELECT FROM ${VOICES}
  WHERE coalesce(voice.request, r.id) = r.id AND ${decides('(r.stages -> r.stage - 1)', 'voice')}
    AND NOT (voice.names || me.persons) && r.parties
    AND NOT ${hasVoted('voice.names')}
    AND NOT (voice.names || me.persons) && approvals.delegates_of(r.parties, r.created_at))
  OR ${confirms('(r.stages -> r.stage - 1)')} AND NOT ${hasVoted('me.names')} AND NOT EXISTS (SELECT FROM unnest(me.persons) AS name
    WHERE NOT coalesce(${CONFIRMER} -> 'keys', ${CONFIRMER} -> 'subjects') ? name
      AND (name = ANY (r.parties) OR name = ANY (approvals.delegates_of(r.parties, r.created_at)))))`;

const ENDED = 'r.ended_at IS NOT NULL';

/** Joins the reader (first parameter) and filters the requests `r` of a statement. */
function whereListed(choice: ListChoice): string {
  if (choice === 'yours') return `, ${READER} WHERE ${DECIDABLE}`;
  if (choice === 'pending') return whereReadable("r.status = 'pending'");
  // Repeats the predicate of the partial index for ended requests, so that the planner uses it.
  return whereReadable(choice === 'ended' ? ENDED : `${ENDED} AND r.status = '${choice}'`);
}

export const whereReadable = (condition: string): string => `, ${READER} WHERE ${condition} AND ${READABLE}`;
