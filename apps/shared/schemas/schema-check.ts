import { createContext, Script } from 'node:vm';
import { Ajv, type AnySchema, type ErrorObject, type Options } from 'ajv';
import addFormats from 'ajv-formats';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Json, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { DATA_KEYWORDS } from '../../../workflows/domain/tools/mirrored-arguments.ts';
import type { ResultCheck, UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import type { Limits } from '../limits.ts';

/** Ajv must not convert values or fill in defaults: the evaluated and approved arguments are those that the agent sent. */
const OPTIONS: Options = { strict: false, logger: false, addUsedSchema: false };
/** Compiled schemas in the cache. A tool that often changes its description empties the cache, and does not make it grow. */
const CACHE_LIMIT = 2_000;

/**
 * Keywords that can make a check of few arguments take for ever: patterns that backtrack, references that multiply, items that are all
 * compared with each other. The cost of any other schema is its length times the arguments.
 */
const COSTLY = /"(?:\$ref|\$dynamicRef|\$recursiveRef|pattern|patternProperties|uniqueItems|format)":/;

type Described = Pick<UpstreamTool, 'definition' | 'digest'>;

/** Why a call cannot be made: the first problem of its arguments, without any value, or an unusable schema of its tool. */
export type CallFault = { readonly problem: string } | { readonly unusable: 'input' | 'output' };
/** Returns `undefined` when the arguments are valid. */
export type ArgumentCheck = (tool: Described, args: JsonObject) => CallFault | undefined;
type CompiledCheck = (value: Json) => string | undefined;

/**
 * Checks arguments against a tool's input schema, in the dialect that the schema names (default: 2020-12). An unusable input schema
 * refuses all calls. So does an unusable output schema: the tool would run, but its result could not be delivered.
 */
export function createArgumentCheck(limits: Limits): ArgumentCheck {
  const checkFor = createChecks('inputSchema', limits);
  const resultCheckFor = createChecks('outputSchema', limits);
  return (tool, args) => {
    const check = checkFor(tool);
    if (check === undefined) return { unusable: 'input' };
    const hasOutput = tool.definition['outputSchema'] !== undefined;
    if (hasOutput && resultCheckFor(tool) === undefined) return { unusable: 'output' };
    const problem = check(args);
    return problem === undefined ? undefined : { problem };
  };
}

/** Checks structured results against a tool's output schema in the same way. Without an output schema, every result is valid. */
export function createResultCheck(limits: Limits): ResultCheck {
  const checkFor = createChecks('outputSchema', limits);
  return (tool, structured) => {
    if (tool.definition['outputSchema'] === undefined) return true;
    const check = checkFor(tool);
    return check !== undefined && check(structured) === undefined;
  };
}

/** The check by one of a tool's schemas, compiled once per digest of the tool. `undefined` means an unusable schema. */
function createChecks(
  schema: 'inputSchema' | 'outputSchema',
  limits: Limits,
): (tool: Described) => CompiledCheck | undefined {
  const compiled = new Map<string, CompiledCheck | undefined>();
  return ({ digest, definition }) => {
    if (!compiled.has(digest)) {
      if (compiled.size >= CACHE_LIMIT) compiled.clear();
      compiled.set(digest, compile(definition[schema], schema, limits));
    }
    return compiled.get(digest);
  };
}

/** External references are never fetched: they make the schema unusable. */
function compile(
  described: Json | undefined,
  of: 'inputSchema' | 'outputSchema',
  limits: Limits,
): CompiledCheck | undefined {
  try {
    // Policies may decide by the input, but not by the output.
    const schema = of === 'inputSchema' && described !== undefined ? withSafeIntegers(described) : described;
    const named = (schema as { $schema?: unknown } | undefined)?.$schema;
    const dialect = dialectOf(named);
    const isPlain = named === undefined || (typeof named === 'string' && PLAIN.test(named));
    if (isPlain && metaSchemaOf(dialect).validateSchema(schema as AnySchema) !== true) return undefined;
    const validate = newAjv(dialect, { validateSchema: !isPlain }).compile(schema as AnySchema);
    // An asynchronous validator returns a promise, which would pass for "valid".
    if ('$async' in validate) return undefined;
    const check: CompiledCheck = (value) => (validate(value) === true ? undefined : describe(validate.errors?.[0]));
    return COSTLY.test(JSON.stringify(schema)) ? bounded(check, limits) : check;
  } catch {
    return undefined;
  }
}

const bounded =
  (check: CompiledCheck, { schemaCheckMs }: Limits): CompiledCheck =>
  (value) => {
    try {
      return withinTime(schemaCheckMs, () => check(value));
    } catch {
      // Also a stack overflow, from a schema that refers to itself.
      return 'they cannot be checked in time';
    }
  };

type Dialect = typeof Ajv | typeof Ajv2019 | typeof Ajv2020;

function dialectOf(named: unknown): Dialect {
  if (typeof named !== 'string') return Ajv2020;
  if (named.includes('draft-07')) return Ajv;
  return named.includes('2019-09') ? Ajv2019 : Ajv2020;
}

/** Each schema gets one of its own, so that no identifier in it has a meaning in another schema. */
function newAjv(AjvOfDialect: Dialect, options?: Options): Ajv {
  const ajv = new AjvOfDialect({ ...OPTIONS, ...options });
  addFormats.default(ajv);
  return ajv;
}

/** The names of the dialects. Ajv keeps each other name that it resolves, so a shared one gets these alone. */
const PLAIN = /^https?:[/][/]json-schema[.]org[/]draft(?:-07|[/]2019-09|[/]2020-12)[/]schema#?$/;
/** To compile the schema of a dialect takes longer than to compile the schema of most tools, so it is done once. */
const metaSchemas = new Map<Dialect, Ajv>();

function metaSchemaOf(dialect: Dialect): Ajv {
  const known = metaSchemas.get(dialect) ?? newAjv(dialect);
  metaSchemas.set(dialect, known);
  return known;
}

function describe(error: ErrorObject | undefined): string {
  if (error === undefined) return 'they do not fit the input schema';
  const extra: unknown = error.keyword === 'additionalProperties' ? error.params['additionalProperty'] : undefined;
  const where = `arguments${error.instancePath}`;
  return `${where} ${error.message ?? 'does not fit'}${typeof extra === 'string' ? ` (${extra.slice(0, 64)})` : ''}`;
}

const SAFE = { minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/**
 * The same schema, which limits integers to those that all readers read alike: beyond 2^53, two readers take 9007199254740993 for
 * different amounts. The type `number` stays unlimited. (PRJ-35)
 */
function withSafeIntegers(schema: Json): Json {
  if (Array.isArray(schema)) return (schema as readonly Json[]).map(withSafeIntegers);
  if (schema === null || typeof schema !== 'object') return schema;
  const node = objectOf(schema);
  const narrowed = Object.fromEntries(
    Object.entries(node).map(([keyword, value]) => [
      keyword,
      DATA_KEYWORDS.includes(keyword) ? value : withSafeIntegers(value),
    ]),
  );
  if (!isInteger(node['type'])) return narrowed;
  const { allOf } = narrowed;
  return { ...narrowed, allOf: [...(Array.isArray(allOf) ? (allOf as readonly Json[]) : []), SAFE] };
}

const isInteger = (type: Json | undefined): boolean =>
  Array.isArray(type) ? type.includes('integer') && !type.includes('number') : type === 'integer';

const globals: { task?: () => unknown } = {};
const context = createContext(globals);
const run = new Script('task()');

/** Runs the task, and throws when it takes longer. Only `vm` can stop synchronous code, during which no timer of ours fires. */
export function withinTime<T>(ms: number, task: () => T): T {
  globals.task = task;
  try {
    return run.runInContext(context, { timeout: ms }) as T;
  } finally {
    delete globals.task;
  }
}
