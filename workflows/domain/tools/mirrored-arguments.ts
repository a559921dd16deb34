import { type Json, type JsonObject, objectOf, valueAt } from '../canonical-json.ts';
import { MAPPING_KEYWORD, MIRROR_KEYWORD } from './wire-names.ts';

/** An argument that clients over HTTP repeat in a header, so that a proxy can route by it. */
export interface MirroredArgument {
  /** Of the header: `Mcp-Param-` and this. */
  readonly name: string;
  /** Members that lead to it, from the arguments. */
  readonly path: readonly string[];
  readonly type: 'string' | 'integer' | 'boolean';
}

/** The mirrored arguments of a tool. One wrong declaration keeps the whole tool from being offered. */
export interface MirroredArguments {
  readonly mirrored: readonly MirroredArgument[];
  /** The fault, as the end of a sentence about the tool. */
  readonly fault?: string;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TYPES: readonly string[] = ['string', 'integer', 'boolean'] satisfies MirroredArgument['type'][];
/** Keywords whose values are data: a declaration there does not count. */
export const DATA_KEYWORDS: readonly string[] = [
  'const',
  'default',
  'enum',
  'examples',
  'dependentRequired',
  MAPPING_KEYWORD,
];

/**
 * The arguments that an input schema declares to be repeated in headers. Only `properties` lead to one: under any other keyword
 * it would be unknown which value it is.
 *
 * @see MCP 2026-07-28, Streamable HTTP, Custom Headers from Tool Parameters (HTTP-018)
 */
export function mirroredArguments(inputSchema: Json | undefined): MirroredArguments {
  const mirrored: MirroredArgument[] = [];
  const taken = new Set<string>();

  const visit = (node: Json, path: readonly string[] | undefined): string | undefined => {
    if (Array.isArray(node)) return first(node as readonly Json[], (item) => visit(item, undefined));
    const schema = objectOf(node);
    const declared = schema[MIRROR_KEYWORD];
    const fault = declared === undefined ? undefined : declare(declared, schema, path);
    return (
      fault ??
      first(Object.entries(schema), ([keyword, value]) => {
        if (keyword === MIRROR_KEYWORD || DATA_KEYWORDS.includes(keyword)) return undefined;
        if (keyword !== 'properties') return visit(value, undefined);
        return first(Object.entries(objectOf(value)), ([key, child]) => visit(child, path && [...path, key]));
      })
    );
  };

  const declare = (name: Json, { type }: JsonObject, path: readonly string[] | undefined): string | undefined => {
    if (typeof name !== 'string' || !TOKEN.test(name)) return `a ${MIRROR_KEYWORD} that is no name of a header`;
    if (path === undefined || path.length === 0)
      return `the ${MIRROR_KEYWORD} "${name}" where it belongs to no argument`;
    if (typeof type !== 'string' || !TYPES.includes(type)) {
      return `the ${MIRROR_KEYWORD} "${name}" at an argument that is no string, integer or boolean`;
    }
    if (taken.has(name.toLowerCase())) return `the ${MIRROR_KEYWORD} "${name}" twice`;
    taken.add(name.toLowerCase());
    mirrored.push({ name, path, type: type as MirroredArgument['type'] });
    return undefined;
  };

  const fault = visit(inputSchema ?? {}, []);
  return fault === undefined ? { mirrored } : { mirrored: [], fault: `its input schema has ${fault}` };
}

function first<T>(items: readonly T[], faultOf: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const fault = faultOf(item);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The value of such an argument in a call; `undefined` when there is none, or `null`: then there is no header either. */
export const mirroredValue = (args: JsonObject, { path }: MirroredArgument): Json | undefined =>
  valueAt(args, path) ?? undefined;
