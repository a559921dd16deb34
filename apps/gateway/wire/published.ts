import { type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import type { ToolHints } from '../../../workflows/domain/tools/tool-facts.ts';
import type { Redaction } from '../extensions/redaction.ts';
import { HINT_META, OWN_META_PREFIX, PREPROCESSOR_META, REQUIREMENTS_META } from './identifiers.ts';
import { OWN_TOOL_DEFINITIONS } from './own-tools.ts';
import type { Rendering } from './rendering.ts';
import { verbatimTool } from './sdk-overlay.ts';
import type { AcceptedDescription } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';

/** These tools and our own, as every list and the signature have them. */
export function publishedTools(
  tools: readonly UpstreamTool[],
  redaction: Pick<Redaction, 'withholds'>,
  { requestTools }: Pick<Rendering, 'requestTools'>,
): Record<string, unknown>[] {
  const published = tools.map((tool) => publishedTool(tool, redaction.withholds(tool.facts)));
  return requestTools ? [...published, ...OWN_TOOL_DEFINITIONS] : published;
}

/**
 * A tool as clients see it: as its upstream describes it, under its public name, with what is known of it. What the
 * official clients drop (`execution` and `preprocessor`) stands a second time in `_meta`. An upstream speaks of its own tasks, which an
 * agent that talks to the gateway cannot use. Of results that are withheld no form is promised.
 */
function publishedTool({ name, definition, facts }: UpstreamTool, isWithheld: boolean): Record<string, unknown> {
  const { execution, annotations: _annotations, preprocessor: _flag, outputSchema, _meta, ...rest } = definition;
  const { taskSupport: _taskSupport, requirements: _declared, ...others } = objectOf(execution);
  const { requirements, hints, annotations, preprocessor } = facts;
  const isDemanding = requirements.length > 0;
  return verbatimTool({
    ...rest,
    name,
    ...(preprocessor && { preprocessor }),
    ...(outputSchema !== undefined && !isWithheld && { outputSchema }),
    ...present('execution', { ...others, ...(isDemanding && { requirements }) }),
    ...present('annotations', annotations),
    ...present('_meta', {
      ...withoutOwn(objectOf(_meta)),
      ...hintMeta(hints),
      ...(isDemanding && { [REQUIREMENTS_META]: requirements }),
      ...(preprocessor && { [PREPROCESSOR_META]: preprocessor }),
    }),
  });
}

const present = (key: string, value: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.keys(value).length > 0 ? { [key]: value } : {};

function hintMeta(hints: ToolHints): Record<string, unknown> {
  const names = Object.keys(HINT_META) as (keyof typeof HINT_META)[];
  return Object.fromEntries(
    names.flatMap((name) => (hints[name] === undefined ? [] : [[HINT_META[name], hints[name]]])),
  );
}

const WRITTEN_BY_US: readonly string[] = Object.values(HINT_META);

/** What only we say of a tool, an upstream cannot say in our name; and of its hints we repeat those that mean something. */
const withoutOwn = (meta: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(meta).filter(([key]) => !key.startsWith(OWN_META_PREFIX) && !WRITTEN_BY_US.includes(key)),
  );

/**
 * A prompt, a resource or a resource template as clients see it: as its upstream describes it, and a prompt under its public
 * name. Of the others the address is the public name, and what is called their name is a text.
 */
export const publishedItem = ({
  kind,
  name,
  definition,
}: Pick<AcceptedDescription, 'kind' | 'name' | 'definition'>): JsonObject =>
  kind === 'prompt' ? { ...definition, name } : definition;

/** Things on one page of a list. Clients of today read the first page only, so it is a large one. */
const PAGE_SIZE = 1_000;

/**
 * One page of a list that is sorted by name, and the cursor of the next one. The cursor is the last name of its page: what
 * comes or goes meanwhile moves nothing else to another page. Throws `ERR_ARGUMENTS_INVALID` for a cursor that is none of ours.
 */
export function pageOf<T extends { readonly name: string }>(
  sorted: readonly T[],
  cursor: string | undefined,
): { readonly items: readonly T[]; readonly nextCursor?: string } {
  const after = cursor === undefined || cursor === '' ? undefined : nameIn(cursor);
  const rest = after === undefined ? sorted : sorted.filter(({ name }) => name > after);
  const items = rest.slice(0, PAGE_SIZE);
  const last = items.at(-1);
  if (last === undefined || items.length === rest.length) return { items };
  return { items, nextCursor: encode(last.name) };
}

const encode = (name: string) => Buffer.from(`after ${name}`).toString('base64url');

function nameIn(cursor: string): string {
  const [, name] = /^after (.+)$/s.exec(Buffer.from(cursor, 'base64url').toString('utf8')) ?? [];
  if (name === undefined || encode(name) !== cursor) {
    throw new CountersignError('ERR_ARGUMENTS_INVALID', 'the cursor is not one that was given out');
  }
  return name;
}
