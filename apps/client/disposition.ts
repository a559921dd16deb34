import { DISPOSITION_META, DISPOSITION_META_ALIAS } from './names.ts';

/** The result of a tool, or the one inside a completed task, as far as this library looks. */
export interface AnyToolResult {
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** The one value that says that nothing ran. */
const NOT_EXECUTED = 'denied-not-executed';

/**
 * What became of the execution, as the server says: `approved-executed`, `denied-not-executed`, `execution-error`,
 * `outcome-unknown`, or a value of a later version, which is handed out as it is. Undefined where the server says nothing,
 * or two things at once.
 * @see SEP-2848, Execution disposition
 */
export function readDisposition({ _meta }: AnyToolResult): string | undefined {
  const said = [_meta?.[DISPOSITION_META], _meta?.[DISPOSITION_META_ALIAS]].filter((one) => one !== undefined);
  const [value] = said;
  return typeof value === 'string' && said.every((one) => one === value) ? value : undefined;
}

/**
 * Whether the tool may have run. Only a plain "it did not" rules that out: a value that nobody knows, and none at all, count
 * as "it may have", so that no call is repeated on a guess (APPR-133).
 */
export function mayHaveRun(result: AnyToolResult): boolean {
  return readDisposition(result) !== NOT_EXECUTED;
}
