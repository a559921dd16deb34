import { Ajv, type AnySchema, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../workflows/domain/ports.ts';

/** Nothing is converted or filled in: the arguments that are evaluated and approved are those the agent sent. */
const OPTIONS: Options = { strict: false, logger: false, addUsedSchema: false };
/** Compiled schemas kept; a tool that changes its description often makes the cache start afresh, not grow. */
const CACHE_LIMIT = 2_000;

/** The first thing that is wrong with the arguments, without any value; `undefined` when they fit. */
export type ArgumentCheck = (tool: Pick<UpstreamTool, 'definition' | 'digest'>, args: JsonObject) => string | undefined;

/**
 * Checks arguments against a tool's input schema in the dialect that the schema names (2020-12 when it names none).
 * Compiled once per digest of the tool. A schema that cannot be used lets nothing through.
 */
export function createArgumentCheck(): ArgumentCheck {
  const compiled = new Map<string, ValidateFunction | undefined>();

  return (tool, args) => {
    if (!compiled.has(tool.digest)) {
      if (compiled.size >= CACHE_LIMIT) compiled.clear();
      compiled.set(tool.digest, compile(tool.definition['inputSchema']));
    }
    const validate = compiled.get(tool.digest);
    if (validate === undefined) return "the tool's input schema cannot be used";
    return validate(args) === true ? undefined : describe(validate.errors?.[0]);
  };
}

function compile(schema: unknown): ValidateFunction | undefined {
  try {
    const ajv = validatorFor((schema as { $schema?: unknown } | undefined)?.$schema);
    addFormats.default(ajv);
    const validate = ajv.compile(schema as AnySchema);
    // An asynchronous validator answers with a promise, which would pass for "valid".
    return '$async' in validate ? undefined : validate;
  } catch {
    return undefined;
  }
}

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
