import { type Json, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import type { ToolHints } from '../../../workflows/domain/tools/tool-facts.ts';
import type { Redaction } from '../extensions/redaction.ts';
import { CARD_ADDRESS, HINT_META, PREPROCESSOR_META, REQUIREMENTS_META } from './identifiers.ts';
import { OWN_TOOL_DEFINITIONS } from './own-tools.ts';
import type { Rendering } from './rendering.ts';
import { verbatimTool } from './sdk-overlay.ts';
import { withoutForged, withoutReserved } from './upstream-result.ts';
import { schemaForEarlier } from '../../../workflows/domain/tools/repaired.ts';
import type { AcceptedDescription } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';

/**
 * These tools and the gateway's own, as they are in every list and in the signature. `isModern`: for a client of the present revision.
 * Otherwise schemas are written as earlier revisions know them.
 */
export function publishedTools(
  tools: readonly UpstreamTool[],
  redaction: Pick<Redaction, 'withholds'>,
  { requestTools, isModern = true }: Pick<Rendering, 'requestTools'> & { readonly isModern?: boolean },
): Record<string, unknown>[] {
  const published = tools.map((tool) => publishedTool(tool, redaction.withholds(tool.facts), isModern));
  return requestTools ? [...published, ...OWN_TOOL_DEFINITIONS] : published;
}

/**
 * A tool as clients see it: the upstream's description under the public name, with the known facts. `_meta` repeats `execution` and
 * `preprocessor`, which the official clients drop. `taskSupport` is removed, because it is about the upstream's own tasks. Withheld
 * results have no output schema.
 */
function publishedTool(
  { name, definition, facts }: UpstreamTool,
  isWithheld: boolean,
  isModern: boolean,
): Record<string, unknown> {
  const { execution, annotations: _annotations, preprocessor: _flag, outputSchema, _meta, ...rest } = definition;
  const { inputSchema } = rest;
  const written = (schema: Json) => (isModern ? schema : schemaForEarlier(schema));
  const { taskSupport: _taskSupport, requirements: _declared, ...others } = objectOf(execution);
  const { requirements, hints, annotations, preprocessor } = facts;
  const isDemanding = requirements.length > 0;
  return verbatimTool({
    ...rest,
    name,
    ...(inputSchema !== undefined && { inputSchema: written(inputSchema) }),
    ...(preprocessor && { preprocessor }),
    ...(outputSchema !== undefined && !isWithheld && { outputSchema: written(outputSchema) }),
    ...present('execution', { ...others, ...(isDemanding && { requirements }) }),
    ...present('annotations', annotations),
    ...present('_meta', {
      ...withoutOurs(objectOf(_meta)),
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
/** Under these keys, a tool names the page that hosts of MCP Apps show beside its answers. @see SEP-1865 */
const PAGE_META = { section: 'ui', address: 'resourceUri', earlier: 'ui/resourceUri' } as const;

/**
 * Removes keys that only the gateway and the protocol write, and our own page, so that an upstream cannot speak in our name. Valid hints are
 * added again.
 */
function withoutOurs(meta: JsonObject): Record<string, unknown> {
  const { section, address, earlier } = PAGE_META;
  return Object.fromEntries(
    Object.entries(withoutReserved(meta) ?? {}).flatMap(([key, value]): [string, unknown][] => {
      if (WRITTEN_BY_US.includes(key) || (key === earlier && value === CARD_ADDRESS)) return [];
      if (key !== section || objectOf(value)[address] !== CARD_ADDRESS) return [[key, value]];
      const { [address]: _ours, ...others } = objectOf(value);
      return [[key, others]];
    }),
  );
}

/**
 * A prompt, a resource or a resource template as clients see it: the upstream's description, and a prompt under its public name. The public
 * name of the others is their address; their `name` is only a label. Metadata that only the gateway and the protocol write is removed.
 */
export const publishedItem = ({
  kind,
  name,
  definition,
}: Pick<AcceptedDescription, 'kind' | 'name' | 'definition'>): JsonObject => {
  const own = withoutForged(definition);
  return kind === 'prompt' ? { ...own, name } : own;
};

/** Today's clients read only the first page, so it is large. */
const PAGE_SIZE = 1_000;

/**
 * One page of a list that is sorted by name, and the cursor of the next page. The cursor is the last name of its page, so that an item
 * that comes or goes does not move others to another page. Throws `ERR_ARGUMENTS_INVALID` for a cursor that the gateway did not issue.
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
    throw new CountersignError('ERR_ARGUMENTS_INVALID', 'the gateway did not issue this cursor');
  }
  return name;
}
