import * as z from 'zod';
import { type Disposition, dispositionOf } from '../../workflows/domain/gated-call/gated-call.ts';
import { TERMINAL_STATES } from '../../workflows/domain/gated-call/outcome-record.ts';
import type { RecordFilter, RecordPosition } from './stores/outcome-record.store.ts';

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;
const DAY_MS = 86_400_000;

/** Text that an id, a name or a digest may be: no control characters, which the database would refuse. */
export const reference = z
  .string()
  .regex(/^[^\p{Cc}]{1,300}$/u, 'between 1 and 300 characters, none of them a control character');

/**
 * How records name a call. The plain digest finds nothing: whoever may ask by it can try every value of a short secret among the
 * arguments, until one is answered.
 */
const callDigest = z
  .string()
  .regex(/^hmac-sha-256:[0-9a-f]{64}$/, 'the keyed digest that records show, hmac-sha-256: and 64 hexadecimal digits');

const day = z.iso.date();
/** A day (`2026-11-21`, in UTC) or an instant with its time zone. Years before 1970 are slips of the pen. */
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
    cursor: given(reference),
    before: given(reference),
    limit: given(z.coerce.number().int().min(1).max(MAX_LIMIT)),
  })
  .refine(({ state, disposition }) => !state || !disposition || dispositionOf(state) === disposition, {
    path: ['disposition'],
    message: 'does not occur together with this state',
  })
  .refine(({ cursor, before }) => !cursor || !before, {
    path: ['before'],
    message: 'does not go together with cursor: a page is older than one position or newer than another',
  });

export type RecordQuery = z.infer<typeof querySchema>;

/** What a caller asked for that cannot be answered. The message names the parameter and what it may be. */
export class BadQuery extends Error {}

export interface Page {
  readonly query: RecordQuery;
  readonly filter: RecordFilter;
  /** Older than this position. */
  readonly after?: RecordPosition;
  /** Newer than this position, the nearest ones. */
  readonly before?: RecordPosition;
  readonly limit: number;
}

/** Reads the query of a list. Throws `BadQuery`, also for a parameter nobody knows: a filter that is ignored misleads. */
export function readQuery(raw: unknown): Page {
  const parsed = querySchema.safeParse(raw);
  if (!parsed.success) throw new BadQuery(inWords(parsed.error));
  const query = parsed.data;
  const state =
    query.state ?? TERMINAL_STATES.find((one) => query.disposition && dispositionOf(one) === query.disposition);
  const from = query.from && startOf(query.from);
  const until = query.until && endOf(query.until);
  const filter: RecordFilter = {
    ...(state && { state }),
    ...(query.tool && { tool: query.tool }),
    ...(query.requester && { requester: query.requester }),
    ...(query.callDigest && { callDigest: query.callDigest }),
    ...(from && { from }),
    ...(until && { until }),
  };
  const after = query.cursor === undefined ? undefined : readCursor('cursor', query.cursor);
  const before = query.before === undefined ? undefined : readCursor('before', query.before);
  return { query, filter, ...(after && { after }), ...(before && { before }), limit: query.limit ?? DEFAULT_LIMIT };
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

const position = z.tuple([z.iso.datetime({ precision: 6 }).refine((text) => text >= '1970'), reference]);

/** The position as one opaque word. */
export function writeCursor({ recordedAt, outcomeRef }: RecordPosition): string {
  return Buffer.from(JSON.stringify([recordedAt, outcomeRef])).toString('base64url');
}

function readCursor(parameter: 'cursor' | 'before', cursor: string): RecordPosition {
  try {
    const [recordedAt, outcomeRef] = position.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
    return { recordedAt, outcomeRef };
  } catch {
    throw new BadQuery(`${parameter}: not one that this service gave out; start again without it`);
  }
}

const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)$/;

/**
 * The instant in UTC with six digits of a second, so that equal instants are equal text and earlier is smaller.
 * `undefined` when the text is no instant with a time zone (RFC 3339, at most microseconds).
 */
export function toInstant(text: string): string | undefined {
  const parts = INSTANT.exec(text);
  const millis = parts ? Date.parse(`${parts[1]}${parts[3]}`) : NaN;
  if (Number.isNaN(millis)) return undefined;
  return `${new Date(millis).toISOString().slice(0, 19)}.${(parts?.[2] ?? '').padEnd(6, '0')}Z`;
}
