/**
 * An approval within so many seconds after the page was opened is a quick one: five to read the page, and the five in which the browser
 * lets its person undo it.
 */
export const QUICK_SECONDS = 10;
/** A rule that was approved so often, and never denied, is listed as one that is always approved. */
export const ALWAYS_AT_LEAST = 10;
/** The latest requests of a range that are counted. More could not be read in the time that a statement has. */
export const MOST_REQUESTS = 100_000;

export const FIGURE_SORTS = ['name', 'approved', 'denied', 'median', 'p90', 'quick'] as const;
export type FigureSort = (typeof FIGURE_SORTS)[number];

/** What decisions are counted by. `always`: the rules that were approved at least ten times and never denied. */
export const FIGURE_KINDS = ['person', 'tool', 'rule', 'template', 'always'] as const;
export type FigureKind = (typeof FIGURE_KINDS)[number];

/** The decisions of one person, or about one tool, rule or template. */
export interface Figure {
  /** The subject of the person; the name of the tool, rule or template. */
  readonly key: string;
  /** The display name of the person, as it was when they decided. */
  readonly name: string | null;
  readonly approved: number;
  readonly denied: number;
  /** From the opening of the request to the decision. */
  readonly medianSeconds: number;
  /** Nine of ten decisions were as fast as this, or faster. */
  readonly p90Seconds: number;
  /** Approvals in the inbox by a person who had opened the page of the request. */
  readonly opened: number;
  /** Those of `opened` that came within `QUICK_SECONDS`. */
  readonly quick: number;
}

export interface FigureTable {
  /** Of all, before the limit. */
  readonly count: number;
  readonly rows: readonly Figure[];
}

/** How the requests of the range ended. */
export interface Ends {
  readonly people: number;
  /** By a grant, an automatic resolver or a supervising agent, and by no person. */
  readonly programs: number;
  readonly emergency: number;
  readonly undecided: number;
}

export interface Figures {
  readonly tables: Readonly<Record<FigureKind, FigureTable>>;
  readonly ends: Ends;
  /** When the first request ended that is counted. Absent: no request is. */
  readonly first?: string;
  /** Whether the range has more than `MOST_REQUESTS`, so that its first part is not counted. */
  readonly isCut: boolean;
}

export interface FigureQuery {
  /** Requests that ended from here on. */
  readonly from: Date;
  /** Requests that ended before this. */
  readonly until: Date;
  readonly sort: FigureSort;
  readonly order: 'asc' | 'desc';
  /** Rows of each table. */
  readonly limit: number;
}
