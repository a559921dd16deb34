import { DATA_KEYWORDS } from '../../../workflows/domain/tools/mirrored-arguments.ts';
import { objectOf, type Json } from '../../../workflows/domain/canonical-json.ts';

const SAFE = { minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/**
 * The same schema, in which integers are those that everybody reads alike: beyond 2^53, one reader takes 9007199254740993 for
 * another amount than the next. What may be any number stays so. (PRJ-35)
 */
export function withSafeIntegers(schema: Json): Json {
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
