import { createContext, Script } from 'node:vm';
import { Ajv, type AnySchema, type ErrorObject, type Options } from 'ajv';
import addFormats from 'ajv-formats';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Json, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { DATA_KEYWORDS } from '../../../workflows/domain/tools/mirrored-arguments.ts';
import type { ResultCheck, UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import type { Limits } from '../limits.ts';

/** Nothing is converted or filled in: the arguments that are evaluated and approved are those the agent sent. */
const OPTIONS: Options = { strict: false, logger: false, addUsedSchema: false };
/** Compiled schemas kept; a tool that changes its description often makes the cache start afresh, not grow. */
const CACHE_LIMIT = 2_000;

/**
 * What can make a check of few arguments take for ever: patterns that backtrack, references that multiply, members that are all
 * compared with each other. Any other schema costs as much as it is long, times the arguments.
 */
const COSTLY = /"(?:\$ref|\$dynamicRef|\$recursiveRef|pattern|patternProperties|uniqueItems|format)":/;

type Described = Pick<UpstreamTool, 'definition' | 'digest'>;

/** Why a call cannot be made: the first thing that is wrong with its arguments, without any value, or a schema of its tool. */
export type CallFault = { readonly problem: string } | { readonly unusable: 'input' | 'output' };
/** Answers `undefined` when the arguments fit. */
export type ArgumentCheck = (tool: Described, args: JsonObject) => CallFault | undefined;
type CompiledCheck = (value: Json) => string | undefined;

/**
 * Checks arguments against a tool's input schema in the dialect that the schema names (2020-12 when it names none).
 * A schema that cannot be used lets nothing through, the tool's output schema either: the tool would run, and nobody could get
 * its result.
 */
export function createArgumentCheck(limits: Limits): ArgumentCheck {
  const checkFor = createChecks('inputSchema', limits);
  const resultCheckFor = createChecks('outputSchema', limits);
  return (tool, args) => {
    const check = checkFor(tool);
    if (check === undefined) return { unusable: 'input' };
    const promisesInVain = tool.definition['outputSchema'] !== undefined && resultCheckFor(tool) === undefined;
    if (promisesInVain) return { unusable: 'output' };
    const problem = check(args);
    return problem === undefined ? undefined : { problem };
  };
}

/** Checks structured results against a tool's output schema in the same way. Where a tool has none, everything fits. */
export function createResultCheck(limits: Limits): ResultCheck {
  const checkFor = createChecks('outputSchema', limits);
  return (tool, structured) => {
    if (tool.definition['outputSchema'] === undefined) return true;
    const check = checkFor(tool);
    return check !== undefined && check(structured) === undefined;
  };
}

/** The check by one of a tool's schemas, compiled once per digest of the tool. `undefined`: the schema cannot be used. */
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

/** Nothing that the schema refers to is fetched: what it does not hold itself makes it one that cannot be used. */
function compile(
  described: Json | undefined,
  of: 'inputSchema' | 'outputSchema',
  limits: Limits,
): CompiledCheck | undefined {
  try {
    // What goes in may be decided by. What comes back is the tool's word.
    const schema = of === 'inputSchema' && described !== undefined ? withSafeIntegers(described) : described;
    const ajv = validatorFor((schema as { $schema?: unknown } | undefined)?.$schema);
    addFormats.default(ajv);
    const validate = ajv.compile(schema as AnySchema);
    // An asynchronous validator answers with a promise, which would pass for "valid".
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
      // Or it ran out of stack, for a schema that leads back to itself.
      return 'they cannot be checked in time';
    }
  };

function validatorFor(dialect: unknown): Ajv {
  if (typeof dialect !== 'string') return new Ajv2020(OPTIONS);
  if (dialect.includes('draft-07')) return new Ajv(OPTIONS);
  if (dialect.includes('2019-09')) return new Ajv2019(OPTIONS);
  return new Ajv2020(OPTIONS);
}

function describe(error: ErrorObject | undefined): string {
  if (error === undefined) return 'they do not fit the input schema';
  const extra: unknown = error.keyword === 'additionalProperties' ? error.params['additionalProperty'] : undefined;
  const where = `arguments${error.instancePath}`;
  return `${where} ${error.message ?? 'does not fit'}${typeof extra === 'string' ? ` (${extra.slice(0, 64)})` : ''}`;
}

const SAFE = { minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/**
 * The same schema, in which integers are those that everybody reads alike: beyond 2^53, one reader takes 9007199254740993 for
 * another amount than the next. What may be any number stays so. (PRJ-35)
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

/**
 * Runs the task, and throws when it takes longer. Node can stop code that never waits in this way only: while it runs, no timer
 * of ours fires.
 *
 * @param ms Of the clock on the wall.
 */
export function withinTime<T>(ms: number, task: () => T): T {
  globals.task = task;
  try {
    return run.runInContext(context, { timeout: ms }) as T;
  } finally {
    delete globals.task;
  }
}
