import { isObject, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { ResultCheck, UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import { systemClock } from '../clock.ts';
import { sha256 } from '../crypto.ts';
import type { Limits } from '../limits.ts';
import type { SchemaOf } from './compile.ts';
import { Lane, type Verdict } from './lane.ts';

type Described = Pick<UpstreamTool, 'definition'>;

/** Why a call cannot be made: the problems of its arguments, without any value, or an unusable schema of its tool. */
export type CallFault = { readonly problem: string } | { readonly unusable: 'input' | 'output' };

export interface ArgumentChecks {
  /** Whether a check against the input schema of this tool takes long, or could. */
  isCostly(tool: Described): boolean;
  /** Resolves to `undefined` when the arguments are valid. Never rejects. */
  check(tool: Described, args: JsonObject): Promise<CallFault | undefined>;
}

const LATE = 'they cannot be checked in time';

/**
 * Checks arguments against a tool's input schema, in the dialect that the schema names (default: 2020-12). An unusable input schema
 * refuses all calls. So does an unusable output schema: the tool would run, but its result could not be delivered.
 */
export const createArgumentChecks = (limits: Limits): ArgumentChecks => ({
  isCostly: ({ definition: { inputSchema } }) => isSchema(inputSchema) && knownOf(inputSchema, 'inputSchema').isSlow,
  async check({ definition }, args) {
    const { inputSchema, outputSchema } = definition;
    const verdict = await ask({ schema: inputSchema, of: 'inputSchema', value: args }, limits);
    if (typeof verdict === 'object' && 'unusable' in verdict) return { unusable: 'input' };
    if (outputSchema !== undefined) {
      const output = await faultOf({ schema: outputSchema, of: 'outputSchema' }, limits);
      if (output !== undefined) return { unusable: 'output' };
    }
    if (typeof verdict !== 'object') return { problem: LATE };
    return verdict.problems.length > 0 ? { problem: verdict.problems.join('; ') } : undefined;
  },
});

/** Checks structured results against a tool's output schema in the same way. Without an output schema, every result is valid. */
export function createResultCheck(limits: Limits): ResultCheck {
  return async ({ definition: { outputSchema: schema } }, value) => {
    if (schema === undefined) return true;
    const verdict = await ask({ schema, of: 'outputSchema', value }, limits);
    return typeof verdict === 'object' && 'problems' in verdict && verdict.problems.length === 0;
  };
}

/** Why a tool cannot be used, as the end of a sentence about it. */
export interface SchemaFault {
  readonly reason: string;
  /** The same schema may turn out to be usable. */
  readonly mayPass?: true;
}

/** The fault of the schemas of a tool; `undefined` if there is none. Never rejects. */
export async function examineSchemas({ definition }: Described, limits: Limits): Promise<SchemaFault | undefined> {
  const { inputSchema, outputSchema } = definition;
  const input = await faultOf({ schema: inputSchema, of: 'inputSchema' }, limits);
  if (input !== undefined || outputSchema === undefined) return input;
  return faultOf({ schema: outputSchema, of: 'outputSchema' }, limits);
}

/** Far more than the largest schemas of published tools have: bytes of JSON, and objects and lists in it. */
const MAX_BYTES = 256 * 1_024;
const MAX_NODES = 10_000;
/** A schema within these takes a few milliseconds to compile. */
const SMALL_BYTES = 8 * 1_024;
/** A check that takes more than this part of its time is slow. */
const SLOW = 1 / 5;

interface Asked {
  readonly schema: Json | undefined;
  readonly of: SchemaOf;
  readonly value?: Json;
}

/** What is known of a schema. */
interface Known {
  readonly key: string;
  /** Whether it waits only for others that are slow as well. */
  isSlow: boolean;
  /** Why it cannot be used, as the end of a sentence about it; `null` where it can. Absent until it is known. */
  unusable?: string | null;
}

/** Two for the whole process. What is slow, or could be, keeps no other check waiting. */
const lanes = { quick: new Lane(systemClock), slow: new Lane(systemClock) };
/** Schemas by their keys. */
const schemas = new Map<string, Known>();
const MAX_SCHEMAS = 10_000;
const seen = { inputSchema: new WeakMap<object, Known>(), outputSchema: new WeakMap<object, Known>() };

function knownOf(schema: object, of: SchemaOf): Known {
  const before = seen[of].get(schema);
  if (before !== undefined) return before;
  const text = JSON.stringify(schema);
  const key = sha256(`${of} ${text}`);
  const known = schemas.get(key) ?? { key, ...sizeOf(schema, Buffer.byteLength(text)) };
  if (schemas.size >= MAX_SCHEMAS) schemas.clear();
  schemas.set(key, known);
  seen[of].set(schema, known);
  return known;
}

function sizeOf(schema: object, bytes: number): Pick<Known, 'unusable' | 'isSlow'> {
  const isSlow = bytes > SMALL_BYTES;
  if (bytes > MAX_BYTES) return { isSlow, unusable: `has ${bytes} bytes, and ${MAX_BYTES} are the most` };
  const nodes = isSlow ? nodesIn(schema) : 0;
  return { isSlow, ...(nodes > MAX_NODES && { unusable: `has ${nodes} parts, and ${MAX_NODES} are the most` }) };
}

const nodesIn = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.values(value).reduce((sum: number, member) => sum + nodesIn(member), 1);

/** `undefined`: it is not known now. */
async function ask({ schema, of, value }: Asked, limits: Limits): Promise<Verdict | undefined> {
  if (!isSchema(schema)) return { unusable: schema === undefined ? 'is missing' : 'is no object' };
  const known = knownOf(schema, of);
  if (typeof known.unusable === 'string') return { unusable: known.unusable };
  if (value === undefined && known.unusable === null) return { problems: [] };
  const question = { key: known.key, of, schema, ...(value !== undefined && { value }) };
  const { schemaThreadMs: startMs, schemaCheckMs: checkMs, schemaCompileMs: compileMs } = limits;
  const { verdict, tookMs } = await (known.isSlow ? lanes.slow : lanes.quick).ask(question, {
    startMs,
    checkMs,
    compileMs,
  });
  known.isSlow ||= tookMs > checkMs * SLOW;
  if (typeof verdict !== 'object') return verdict;
  known.unusable = 'unusable' in verdict ? `cannot be used: ${verdict.unusable}` : null;
  return known.unusable === null ? verdict : { unusable: known.unusable };
}

const isSchema = (schema: Json | undefined): schema is JsonObject => schema !== undefined && isObject(schema);

async function faultOf(asked: Omit<Asked, 'value'>, limits: Limits): Promise<SchemaFault | undefined> {
  const verdict = await ask(asked, limits);
  const named = asked.of === 'inputSchema' ? 'its input schema' : 'its output schema';
  if (typeof verdict !== 'object') return { reason: `${named} takes too long to compile`, mayPass: true };
  return 'unusable' in verdict ? { reason: `${named} ${verdict.unusable}` } : undefined;
}
