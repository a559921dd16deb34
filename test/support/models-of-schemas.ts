import * as z from 'zod';
import type { Json, JsonObject } from '../../workflows/domain/canonical-json.ts';

type Schema = Readonly<Record<string, unknown>>;
/** The arguments that a client sends after it has put these through a model of the tool's schema. */
export type Model = (given: Json) => Json;

/**
 * Ways in which clients build models of a tool's schema, and send the content of the model. The second is the way of
 * stricter clients: a model has only the members that the schema names, and an omitted member becomes null.
 */
export const MODEL_BUILDERS: readonly (readonly [name: string, build: (schema: Schema) => Model])[] = [
  ['the converter of zod', (schema) => (given) => z.fromJSONSchema(schema).parse(given) as Json],
  ['a strict model', strictModel],
];

function strictModel({ anyOf, properties, type, default: fallback = null }: Schema): Model {
  if (Array.isArray(anyOf)) return oneOf((anyOf as Schema[]).map(strictModel), fallback as Json);
  return (given: Json = fallback as Json) => {
    if (given === null) return null;
    if (type !== typeOf(given)) throw new TypeError(`expected ${String(type)}, got ${typeOf(given)}`);
    if (properties === undefined) return given;
    const members = Object.entries(properties as Record<string, Schema>);
    return Object.fromEntries(
      members.map(([name, member]) => [name, strictModel(member)((given as JsonObject)[name] as Json)]),
    );
  };
}

const oneOf =
  (models: readonly Model[], fallback: Json): Model =>
  (given = fallback) => {
    for (const model of models) {
      try {
        return model(given);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
    }
    throw new TypeError('matches no alternative');
  };

const typeOf = (value: Json) => (Array.isArray(value) ? 'array' : typeof value);
