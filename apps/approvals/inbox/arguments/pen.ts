import { LONG_RUN, type Notation, type Piece, visiblePieces } from '../../../shared/pages/visible-text.ts';

/** A text that a warning names. */
export interface Finding {
  readonly text: string;
  /** The ids of its places on the page, in the order of the page. */
  readonly places: string[];
  /** How many places it has, with or without an id. */
  count: number;
}

/** What a drawing contains that may be meant to deceive, and `calm`: explanations of the quiet marks. */
export interface Findings {
  /** Escapes of characters that do not show, or mislead. */
  readonly hidden: readonly Finding[];
  /** Texts that look like other letters or signs. */
  readonly alike: readonly Finding[];
  /** Runs of blanks that may push text out of sight, by their length. */
  readonly blanks: readonly Finding[];
  readonly calm: ReadonlySet<string>;
}

/** Only so many places of one drawing have an id. All have their mark. */
const MOST_PLACES = 1_000;
/** From this length on, lines may break inside tokens: there could be a million tokens. */
const DENSE_FROM = 100_000;
/** Characters of programs that one drawing colours. Colouring takes time, and the page is drawn while others wait. */
const MOST_COLOURED = 20_000;
/** The sum of the squares of the lines in each edit that one drawing compares: the time that a comparison may take grows so. */
const MOST_COMPARED = 20_000_000;
/** Values that one drawing shows one by one. The rest is drawn as JSON. */
const MOST_VALUES = 5_000;
const ESCAPE = /\\u[\da-f]{4}|\\./g;

interface Paper {
  /** Ids of places begin with it. Each drawing on a page has its own. */
  readonly id: string;
  /** The length of the canonical text. */
  readonly length: number;
  /** Whether lines break anywhere; by default, if the text is long. */
  readonly isDense?: boolean | undefined;
  /** The ids of string values to which warnings lead, by the number of string values before them. */
  readonly marked?: ReadonlyMap<number, string> | undefined;
}

/** Marks what may deceive while a view is drawn, and notes where. All text from outside passes through `pieces`. */
export class Pen {
  readonly isDense: boolean;
  readonly #paper: Paper;
  readonly #found = {
    escape: new Map<string, Finding>(),
    alike: new Map<string, Finding>(),
    edge: new Map<string, Finding>(),
  };
  readonly #calm = new Set<string>();
  #places = 0;
  #colourable = MOST_COLOURED;
  #comparable = MOST_COMPARED;
  #values = MOST_VALUES;

  constructor(paper: Paper) {
    this.#paper = paper;
    this.isDense = paper.isDense ?? paper.length > DENSE_FROM;
  }

  /** The pieces of a text, those that may deceive with the id of their place. */
  pieces(text: string, notation: Notation): readonly Piece[] {
    return visiblePieces(text, notation).map((piece) => this.#noted(piece));
  }

  /** A pen for a second drawing of what this one has drawn: its places have no ids. */
  copy(): Pen {
    const copy = new Pen(this.#paper);
    copy.#places = MOST_PLACES;
    return copy;
  }

  /** The id of the string value with so many string values before it, if a warning leads there. */
  placeOf(ordinal: number): string | undefined {
    return this.#paper.marked?.get(ordinal);
  }

  /** Whether a text of this length may still be coloured. */
  mayColour(length: number): boolean {
    if (length > this.#colourable) return false;
    this.#colourable -= length;
    return true;
  }

  /** Whether texts with this many lines may still be compared. */
  mayCompare(lines: number): boolean {
    if (lines ** 2 > this.#comparable) return false;
    this.#comparable -= lines ** 2;
    return true;
  }

  /** Whether this many values may still be drawn one by one. */
  mayDraw(values: number): boolean {
    if (values > this.#values) return false;
    this.#values -= values;
    return true;
  }

  get findings(): Findings {
    const listed = (kind: 'escape' | 'alike' | 'edge') => [...this.#found[kind].values()];
    return { hidden: listed('escape'), alike: listed('alike'), blanks: listed('edge'), calm: this.#calm };
  }

  #noted(piece: Piece): Piece {
    const { kind, text, says } = piece;
    if (kind === 'calm' && says !== undefined) this.#calm.add(says);
    if (kind !== 'escape' && kind !== 'alike' && (kind !== 'edge' || text.length < LONG_RUN)) return piece;
    const place = this.#places < MOST_PLACES ? `${this.#paper.id}-${(this.#places += 1)}` : undefined;
    const found = this.#found[kind];
    for (const name of kind === 'escape' ? new Set(text.match(ESCAPE)) : [text]) {
      const finding = found.get(name) ?? { text: name, places: [], count: 0 };
      found.set(name, finding);
      finding.count += 1;
      if (place !== undefined) finding.places.push(place);
    }
    return place === undefined ? piece : { ...piece, place };
  }
}
