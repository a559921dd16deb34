import type { DetailedError } from '@cedar-policy/cedar-wasm/nodejs';
import { CountersignError } from '../../../../workflows/domain/errors.ts';

/** A place in a file. Both numbers count from 1, as editors do. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A mistake in a file of a policy folder. The message says what to do and quotes no facts about people. */
export interface PolicyProblem extends Partial<Place> {
  readonly file: string;
  readonly message: string;
}

/** The files of a policy folder cannot be put in force. The message has every problem, in the form of `describeProblem`. */
export class InvalidPolicies extends CountersignError {
  readonly problems: readonly PolicyProblem[];

  constructor(problems: readonly PolicyProblem[], cause?: unknown) {
    super('ERR_CONFIG_INVALID', problems.map(describeProblem).join('; '), { cause });
    this.problems = problems;
  }
}

/** `file:line:column: message`, which editors and terminals turn into a link. */
export function describeProblem({ file, line, column, message }: PolicyProblem): string {
  return `${[file, line, column].filter((part) => part !== undefined).join(':')}: ${message}`;
}

/** The place behind a text that begins at line 1, column 1. */
export function endOf(text: string): Place {
  const lines = text.split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

/** Where V8 stopped reading a JSON text. Its message also quotes the text, which must not be passed on. */
export function placeOfSyntaxError(error: unknown, text: string): Partial<Place> {
  const position = error instanceof SyntaxError ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
  return position === undefined ? {} : endOf(text.slice(0, Number(position)));
}

/** The place of what is at `inner` of a text that itself begins at `outer`. */
export function within(outer: Place, inner: Place): Place {
  return {
    line: outer.line + inner.line - 1,
    column: inner.line === 1 ? outer.column + inner.column - 1 : inner.column,
  };
}

/** Cedar's errors about a text that begins at `start` of the file. */
export function cedarProblems(
  errors: readonly DetailedError[],
  { file, text, start = { line: 1, column: 1 } }: { file: string; text: string; start?: Place },
): PolicyProblem[] {
  // Cedar counts bytes of UTF-8.
  const placeAt = (offset: number) => within(start, endOf(Buffer.from(text).subarray(0, offset).toString()));
  return errors.map(({ message, help, sourceLocations: [at] = [] }) => {
    const more = help ?? at?.label;
    return { file, ...(at && placeAt(at.start)), message: `${message}${more ? ` (${more})` : ''}` };
  });
}
