import * as z from 'zod';
import { type Disposition, dispositionOf } from '../../workflows/domain/gated-call/gated-call.ts';
import { TERMINAL_STATES } from '../../workflows/domain/gated-call/outcome-record.ts';
import type { PageRequest } from '../shared/database/pages.ts';
import { Refusal } from '../shared/http/csrf.ts';
import { cursorParameter } from '../shared/http/list-cursor.ts';

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;
const DAY_MS = 86_400_000;

/** An id, a name or a digest: the database refuses control characters. */
export const reference = z
  .string()
  .regex(/^[^\p{Cc}]{1,300}$/u, 'between 1 and 300 characters without control characters');

/**
 * How records name a call. The plain digest finds nothing: with it, a caller could try every value of a short secret among the
 * arguments until one is found.
 */
const callDigest = z
  .string()
  .regex(/^hmac-sha-256:[0-9a-f]{64}$/, 'the keyed digest that records show, hmac-sha-256: and 64 hexadecimal digits');

const day = z.iso.date();
/** A day (`2026-11-21`, in UTC) or an instant with its time zone. Years before 1970 are typing errors. */
const moment = z
  .union([day, z.iso.datetime({ offset: true }).refine((text) => toInstant(text) !== undefined)], {
    error: 'a day such as 2026-11-21, or an instant such as 2026-11-21T10:00:00Z',
  })
  .refine((text) => text >= '1970-01-02', 'not before 1970');

const DISPOSITIONS = [
  'approved-executed',
  'denied-not-executed',
  'execution-error',
  'outcome-unknown',
] as const satisfies readonly Disposition[];

// A form sends its empty fields too.
const given = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional());

const querySchema = z
  .strictObject({
    state: given(z.enum(TERMINAL_STATES)),
    disposition: given(z.enum(DISPOSITIONS)),
    tool: given(reference),
    requester: given(reference),
    callDigest: given(callDigest),
    from: given(moment),
    until: given(moment),
    cursor: given(cursorParameter),
    before: given(cursorParameter),
    limit: given(z.coerce.number().int().min(1).max(MAX_LIMIT)),
  })
  .refine(({ state, disposition }) => !state || !disposition || dispositionOf(state) === disposition, {
    path: ['disposition'],
    message: 'does not occur with this state',
  })
  .refine(({ cursor, before }) => !cursor || !before, {
    path: ['before'],
    message: 'cannot be combined with cursor: a page is older than one position or newer than another',
  });

/** The filters of a list as its address has them. */
export type RecordQuery = Omit<z.infer<typeof querySchema>, 'cursor' | 'before'>;

/** One page of the records that match. */
export interface Search {
  readonly query: RecordQuery;
  /** `from` is inclusive, `until` exclusive. */
  readonly filter: Pick<RecordQuery, 'state' | 'tool' | 'requester' | 'callDigest' | 'from' | 'until'>;
  readonly request: PageRequest;
}

/** Reads the query of a list. Throws a `Refusal`, also for an unknown parameter: a filter that is ignored would mislead. */
export function readQuery(raw: unknown): Search {
  const parsed = querySchema.safeParse(raw);
  if (!parsed.success) throw new Refusal(400, 'This search is not valid', inWords(parsed.error));
  const { cursor, before, ...query } = parsed.data;
  const { disposition, limit = DEFAULT_LIMIT, ...rest } = query;
  const state = rest.state ?? TERMINAL_STATES.find((one) => disposition && dispositionOf(one) === disposition);
  return {
    query,
    filter: { ...rest, state, from: rest.from && startOf(rest.from), until: rest.until && endOf(rest.until) },
    request: { cursor: before ? { ...before, towards: 'previous' } : cursor && { ...cursor, towards: 'next' }, limit },
  };
}

const isDay = (text: string) => day.safeParse(text).success;
const startOf = (text: string) => (isDay(text) ? `${text}T00:00:00Z` : toInstant(text));
/** `until` a day includes that day; `until` an instant ends before it. */
const endOf = (text: string) => (isDay(text) ? new Date(Date.parse(text) + DAY_MS).toISOString() : toInstant(text));

function inWords(error: z.ZodError): string {
  return error.issues
    .map((issue) => (issue.code === 'unrecognized_keys' ? issue.message : `${issue.path.join('.')}: ${issue.message}`))
    .join('; ');
}

const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)$/;

/**
 * The instant in UTC with six digits of a second, so that texts compare as instants do. `undefined` when the text is not an instant
 * with a time zone (RFC 3339, at most microseconds).
 */
export function toInstant(text: string): string | undefined {
  const parts = INSTANT.exec(text);
  const millis = parts ? Date.parse(`${parts[1]}${parts[3]}`) : NaN;
  if (Number.isNaN(millis)) return undefined;
  return `${new Date(millis).toISOString().slice(0, 19)}.${(parts?.[2] ?? '').padEnd(6, '0')}Z`;
}
