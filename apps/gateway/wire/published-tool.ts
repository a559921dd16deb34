import { objectOf, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../workflows/domain/ports.ts';
import { OWN_META_PREFIX, REQUIREMENTS_META } from './identifiers.ts';
import { verbatimTool } from './sdk-overlay.ts';

/**
 * A tool as clients see it: as its upstream describes it, under its public name, with what is known of it. Requirements stand
 * a second time in `_meta`, because the official clients drop `execution`. An upstream speaks of its own tasks, which an
 * agent that talks to the gateway cannot use.
 */
export function publishedTool({ name, definition, facts }: UpstreamTool): Record<string, unknown> {
  const { execution, _meta, ...rest } = definition;
  const { taskSupport: _taskSupport, requirements: _declared, ...others } = objectOf(execution);
  const { requirements } = facts;
  const isDemanding = requirements.length > 0;
  return verbatimTool({
    ...rest,
    name,
    ...present('execution', { ...others, ...(isDemanding && { requirements }) }),
    ...present('_meta', { ...withoutOwn(objectOf(_meta)), ...(isDemanding && { [REQUIREMENTS_META]: requirements }) }),
  });
}

const present = (key: string, value: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.keys(value).length > 0 ? { [key]: value } : {};

/** What only we say of a tool, an upstream cannot say in our name. */
const withoutOwn = (meta: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(meta).filter(([key]) => !key.startsWith(OWN_META_PREFIX)));
