import * as z from 'zod';
import { isObject, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { repaired } from '../../../workflows/domain/tools/repaired.ts';

/** An entry of a list by its own name: its description, or why it cannot be used, as the end of a sentence about it. */
export type Entry = { readonly name: string } & (
  | { readonly definition: JsonObject }
  | {
      readonly reason: string;
      /** The same entry may turn out to be usable. */
      readonly mayPass?: true;
    }
);

const text = z.string().optional();
const flag = z.boolean().optional();
const described = {
  title: text,
  description: text,
  icons: z
    .array(
      z.looseObject({
        src: z.string(),
        mimeType: text,
        sizes: z.array(z.string()).optional(),
        theme: z.enum(['light', 'dark']).optional(),
      }),
    )
    .optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
};
const read = {
  ...described,
  name: z.string(),
  mimeType: text,
  annotations: z
    .looseObject({
      audience: z.array(z.enum(['user', 'assistant'])).optional(),
      priority: z.number().min(0).max(1).optional(),
      lastModified: z.iso.datetime({ offset: true }).optional(),
    })
    .optional(),
};

/**
 * What every client takes, of any revision. One that checks what it gets refuses a whole list for one entry that differs.
 * @see MCP, schema, Tool, Prompt, Resource, ResourceTemplate
 */
const SHAPES: Readonly<Record<string, z.ZodType>> = {
  tools: z.looseObject({
    ...described,
    inputSchema: z.looseObject({
      $schema: text,
      type: z.literal('object', { error: 'it has to be "object"' }),
      properties: z.record(z.string(), z.union([z.looseObject({}), z.boolean()])).optional(),
      required: z.array(z.string()).optional(),
    }),
    outputSchema: z.looseObject({ $schema: text }).optional(),
    annotations: z
      .looseObject({
        title: text,
        readOnlyHint: flag,
        destructiveHint: flag,
        idempotentHint: flag,
        openWorldHint: flag,
      })
      .optional(),
    execution: z.looseObject({ taskSupport: z.enum(['required', 'optional', 'forbidden']).optional() }).optional(),
  }),
  prompts: z.looseObject({
    ...described,
    arguments: z.array(z.looseObject({ name: z.string(), title: text, description: text, required: flag })).optional(),
  }),
  resources: z.looseObject({ ...read, size: z.number().optional() }),
  resourceTemplates: z.looseObject(read),
};

/** How long a name or a reason may be in a message. Both hold texts of the server. */
const MAX_SHOWN = 200;

/**
 * Reads one entry of the list `member`, whose name is at `key`.
 *
 * @param index Its place in the list, which names an entry without a name.
 */
export function readEntry(
  { member, key }: { readonly member: string; readonly key: string },
  raw: unknown,
  index: number,
): Entry {
  const nameless = `#${index + 1}`;
  if (!isObject(raw)) return { name: nameless, reason: 'it is no object' };
  const definition = repaired(raw);
  const name = definition[key];
  if (typeof name !== 'string' || name === '') return { name: nameless, reason: `it has no ${key}` };
  const [issue] = SHAPES[member]?.safeParse(definition).error?.issues ?? [];
  if (issue === undefined) return { name, definition };
  const at = issue.path.map(String).join('.');
  const message = `${issue.message.charAt(0).toLowerCase()}${issue.message.slice(1)}`;
  return { name, reason: `its member ${at} cannot be used: ${message}`.slice(0, MAX_SHOWN) };
}

/**
 * The entries by their names: one that is listed twice with the same description counts once, and of one that is listed with several, it
 * would be unknown which was meant.
 */
export function eachOnce(entries: readonly Entry[]): readonly Entry[] {
  const byName = new Map<string, Entry>();
  for (const entry of entries) {
    const { name } = entry;
    const before = byName.get(name);
    const isSame = before === undefined || JSON.stringify(before) === JSON.stringify(entry);
    byName.set(
      name,
      isSame ? entry : { name, reason: 'its server lists this name twice, with different descriptions' },
    );
  }
  return [...byName.values()];
}
