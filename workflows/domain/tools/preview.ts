import { canonicalJson, isObject, type Json, type JsonObject, objectOf, ownProperty } from '../canonical-json.ts';

/** How a preview of a call is taken, as the operator states it. A preview changes nothing, by the operator's word. */
export type PreviewSetting = DryRun | ReadingTool;

/** The tool itself does nothing if this argument has this value. */
export interface DryRun {
  readonly dryRun: { readonly argument: string; readonly value: boolean | string };
}

/** Another tool of the same server, whose effect the operator states as `read`. */
export interface ReadingTool {
  /** Public name. */
  readonly tool: string;
  /** By the name of an argument of this tool: the name of the argument of the held call whose value it takes. */
  readonly copy: Readonly<Record<string, string>>;
  readonly arguments: JsonObject;
}

/** Why there is no preview. */
export const PREVIEW_FAULTS = [
  /** The server did not answer in time. */
  'late',
  /** The server cannot be reached, or the connection broke. */
  'unreachable',
  /** The tool is not there, is on another server, or is described differently than accepted. */
  'not_accepted',
  /** The accepted description has no such argument for a dry run, or the call has arguments that it does not name. */
  'no_dry_run',
  /** The arguments do not fit the tool. */
  'unfit',
  /** Requirements of the tool are not met. */
  'unmet',
  /** Its results are too sensitive to be shown. */
  'withheld',
  /** The answer cannot be read. */
  'unreadable',
  /** Too many previews were taken for this caller. */
  'too_many',
] as const;
export type PreviewFault = (typeof PREVIEW_FAULTS)[number];

/** A part of the server's answer, as far as it is shown. */
export type PreviewPart =
  | { readonly text: string }
  /** Content that is not text: its type, and how many characters its JSON has. */
  | { readonly type: string; readonly characters: number };

/** What the server said. */
interface Said {
  readonly isError: boolean;
  /** SHA-256 of the whole answer in canonical JSON (RFC 8785): `sha-256:` and 64 hex digits. */
  readonly digest: string;
  /** Bytes of that JSON. */
  readonly bytes: number;
}

/** One preview as it goes on record: without its content. */
export interface RecordedPreview {
  /** Public name of the tool that was asked. */
  readonly tool: string;
  /** Instant (RFC 3339, UTC) of the answer, or of giving up. */
  readonly takenAt: string;
  readonly said?: Said;
  /** Why there is no preview. Either this or `said` is there. */
  readonly fault?: PreviewFault;
}

/** One preview of a held call. It is the server's claim: no approval is for it, and it is bound to nothing. */
export interface Preview extends RecordedPreview {
  /** Arguments that the operator's setting adds or replaces. */
  readonly fixed: JsonObject;
  /** Parts of the answer up to a limit. Without a fault only. */
  readonly parts?: readonly PreviewPart[];
  /** Whether the parts are not all of it. */
  readonly isCut?: true;
}

export const recordedPreview = ({ tool, takenAt, said, fault }: Preview): RecordedPreview => ({
  ...{ tool, takenAt },
  ...(said !== undefined && { said }),
  ...(fault !== undefined && { fault }),
});

/** A preview as the access request service gets it, with its submission or when an approver asks for it again. */
export const previewMember = ({ tool, fixed, takenAt, said, fault, parts = [], isCut }: Preview): JsonObject => ({
  ...{ tool, arguments: fixed, taken_at: takenAt },
  ...(fault !== undefined && { fault }),
  ...(said !== undefined && { is_error: said.isError, digest: said.digest, bytes: said.bytes }),
  ...(said !== undefined && { parts: parts.map((part): JsonObject => ({ ...part })), is_cut: isCut === true }),
});

/**
 * The arguments of a dry run. `undefined` when it would not certainly be one: the tool's schema has to name the argument for this value,
 * and every other argument of the call. A server may read names without regard to case or separators, so no other argument may look like
 * that of the dry run: a caller could otherwise undo it.
 */
export function dryRunArguments(
  inputSchema: Json | undefined,
  args: JsonObject,
  { argument, value }: DryRun['dryRun'],
): JsonObject | undefined {
  const named = objectOf(objectOf(inputSchema)['properties']);
  const declared = ownProperty(named, argument);
  if (declared === undefined || !takes(declared, value)) return undefined;
  const { [argument]: _callers, ...rest } = args;
  const others = Object.keys(rest);
  if (others.some((name) => !Object.hasOwn(named, name) || folded(name) === folded(argument))) return undefined;
  // Last, so that a reader of duplicate names, too, ends with the operator's.
  return { ...rest, [argument]: value };
}

/** Whether a schema says by itself, without a reference, that it takes this value. */
function takes(schema: Json, value: boolean | string): boolean {
  if (!isObject(schema)) return false;
  if (Object.hasOwn(schema, 'const')) return schema['const'] === value;
  const { enum: listed, anyOf, type } = schema;
  if (Array.isArray(listed)) return listed.includes(value);
  if (Array.isArray(anyOf)) return anyOf.some((one: Json) => takes(one, value));
  return typeof value === 'boolean' && type === 'boolean';
}

const folded = (name: string) =>
  name
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

/** The arguments of another tool for the preview. An argument that the held call does not have is left out. */
export function copiedArguments(args: JsonObject, { copy, arguments: own }: ReadingTool): JsonObject {
  const copied = Object.entries(copy).flatMap(([to, from]) => {
    const value = ownProperty(args, from);
    return value === undefined ? [] : [[to, value] as const];
  });
  return { ...Object.fromEntries(copied), ...own };
}

/** The answer of a server in canonical JSON. `undefined` for one that has no such form. */
export function canonicalAnswer(answer: JsonObject): string | undefined {
  try {
    return canonicalJson(answer);
  } catch {
    return undefined;
  }
}
