import { LONG_RUN, type Piece } from './visible-text.ts';

/** What deserves attention in a text, by what it is: each thing once, in the order of the text. */
export interface Findings {
  /** Escapes of what does not show, or misleads. */
  readonly hidden: readonly string[];
  /** What looks like other letters or signs. */
  readonly alike: readonly string[];
  /** The longest run of blanks that may push something out of sight. */
  readonly blanks: number;
  /** What is marked quietly. */
  readonly calm: readonly string[];
}

const ESCAPE = /\\u[\da-f]{4}|\\./g;

export function findingsOf(lines: readonly (readonly Piece[])[]): Findings {
  const seen = { escape: new Set<string>(), alike: new Set<string>(), calm: new Set<string>() };
  let blanks = 0;
  for (const pieces of lines) {
    for (const { kind, text, says = '' } of pieces) {
      if (kind === 'edge') blanks = text.length < LONG_RUN ? blanks : Math.max(blanks, text.length);
      else if (kind === 'escape') for (const one of text.match(ESCAPE) ?? []) seen.escape.add(one);
      else if (kind !== 'plain' && kind !== 'blanks') seen[kind].add(kind === 'calm' ? says : text);
    }
  }
  return { hidden: [...seen.escape], alike: [...seen.alike], calm: [...seen.calm], blanks };
}

/** Whether there is anything that may be there to deceive. */
export const isSuspect = ({ hidden, alike, blanks }: Findings): boolean => hidden.length + alike.length + blanks > 0;
