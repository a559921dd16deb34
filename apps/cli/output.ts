import { UNPRINTABLE, visible } from '../shared/visible-line.ts';

export { visible };

/** Exit codes of every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** What a command cannot do, in one line that says what to do about it. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(message: string, options: { exitCode?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? EXIT.failed;
  }
}

/** JSON for people and programs; what a terminal would obey is escaped in a way that JSON understands. */
export function json(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(UNPRINTABLE, (character) =>
    character === '\n' ? character : [...escapes(character)].join(''),
  );
}

function* escapes(character: string): Generator<string> {
  for (let i = 0; i < character.length; i += 1) {
    yield `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  }
}

/** Columns as wide as their widest cell, two spaces between them. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows].map((row) => row.map(visible));
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const LINE_WIDTH = 100;

/** Names and values below each other, long values on several lines. Absent values are left out. */
export function facts(rows: readonly (readonly [name: string, value: string | undefined])[]): string {
  const present = rows.filter((row): row is readonly [string, string] => row[1] !== undefined);
  const width = Math.max(...present.map(([name]) => name.length));
  const margin = `\n${' '.repeat(width + 2)}`;
  return present
    .map(([name, value]) => `${name.padEnd(width)}  ${wrap(visible(value), LINE_WIDTH - width - 2).join(margin)}`)
    .join('\n');
}

/** Breaks at blanks only, so that a reference or an address stays in one piece however long it is. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** `2026-11-21 10:00:00Z`, or `2026-11-21 10:00:00.000Z` where the order of two instants within a second matters. */
export function moment(at: string, precision: 'seconds' | 'milliseconds' = 'seconds'): string {
  return `${at.slice(0, precision === 'seconds' ? 19 : 23).replace('T', ' ')}Z`;
}
