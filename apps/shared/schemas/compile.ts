import { Ajv, type AnySchema, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Json, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { DATA_KEYWORDS } from '../../../workflows/domain/tools/mirrored-arguments.ts';

/**
 * Ajv must not convert values or fill in defaults: the evaluated and approved arguments are those that the agent sent. To optimise the code
 * of a large schema, or to copy the schemas that it refers to into that code, takes longer than the optimised code ever saves.
 */
const OPTIONS: Options = {
  strict: false,
  logger: false,
  addUsedSchema: false,
  inlineRefs: false,
  code: { optimize: false },
};

export type SchemaOf = 'inputSchema' | 'outputSchema';

/** The problems of a value, without any value. Empty if there are none. */
export type CompiledCheck = (value: Json) => readonly string[];

/** Reasons are shown to operators, and quote names of the schema. */
const MAX_REASON = 200;

/**
 * Compiles a schema in the dialect that it names (default: 2020-12). External references are never fetched: they make the schema unusable.
 * A schema can make this, and each check, take for ever: call it in a thread that can be ended.
 *
 * @returns The check, or why the schema cannot be used.
 */
export function compile(described: Json, of: SchemaOf): CompiledCheck | { readonly reason: string } {
  try {
    // Policies may decide by the input, but not by the output.
    const schema = of === 'inputSchema' ? withSafeIntegers(described) : described;
    const named = (schema as { $schema?: unknown } | undefined)?.$schema;
    const dialect = dialectOf(named);
    const isPlain = named === undefined || (typeof named === 'string' && PLAIN.test(named));
    const meta = metaSchemaOf(dialect);
    if (isPlain && meta.validateSchema(schema as AnySchema) !== true) return { reason: faultOf(meta.errors?.[0]) };
    const validate = newAjv(dialect, { validateSchema: !isPlain }).compile(schema as AnySchema);
    // An asynchronous validator returns a promise, which would pass for "valid".
    if ('$async' in validate) return { reason: 'it is asynchronous' };
    // The engine compiles the code at its first run, which belongs to the time of this step.
    validate({});
    return checkBy(validate, () =>
      newAjv(dialect, { validateSchema: false, allErrors: true }).compile(schema as AnySchema),
    );
  } catch (error) {
    if (error instanceof RangeError) throw error;
    return { reason: (error as Error).message.slice(0, MAX_REASON) };
  }
}

/** More problems help no one to correct a call. */
const MAX_PROBLEMS = 8;
/** To find every problem of a long value could take long, and any one refuses it. */
const MAX_SEARCHED_LENGTH = 16_384;

/** `findAll` compiles a check that goes on after the first problem. Most values are valid, so it is made when it is needed. */
function checkBy(validate: ValidateFunction, findAll: () => ValidateFunction): CompiledCheck {
  let all: ValidateFunction | undefined;
  return (value) => {
    if (validate(value) === true) return [];
    const first = describe(validate.errors?.[0]);
    if (JSON.stringify(value).length > MAX_SEARCHED_LENGTH) return [first];
    all ??= findAll();
    all(value);
    const problems = [...new Set((all.errors ?? []).map(describe))];
    const more = problems.length - MAX_PROBLEMS;
    return more > 0 ? [...problems.slice(0, MAX_PROBLEMS), `${more} more`] : problems;
  };
}

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

function faultOf(error: ErrorObject | undefined): string {
  const at = error?.instancePath === '' ? 'it' : `its ${error?.instancePath.slice(0, MAX_REASON / 2)}`;
  return `${at} ${error?.message ?? 'is no schema'}`.slice(0, MAX_REASON);
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
