import * as z from 'zod';
import { configSchema } from '../../apps/shared/config/config.ts';

/** A JSON Schema node, as far as the settings use one. */
export interface Node {
  description?: string;
  default?: unknown;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  anyOf?: Node[];
  items?: Node;
  properties?: Record<string, Node>;
  required?: string[];
  additionalProperties?: Node | boolean;
}

/** Zod writes this limit for every integer. */
const LARGEST_INTEGER = Number.MAX_SAFE_INTEGER;

/** The JSON Schema of the file that people write: settings with defaults are optional. Every editor knows draft 7. */
export const schemaOfSettings = (): Node => z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7' }) as Node;

/**
 * The JSON Schema that editors use for `countersign.yaml`. It accepts everything that the product accepts. Texts may be variables
 * (`${NAME}`), so an address has no format. Upstreams may have members that MCP hosts know, so their members stay open.
 */
export function editorSchema(): Node {
  const schema = withoutFormats(schemaOfSettings());
  const { mcpServers } = schema.properties ?? {};
  if (mcpServers === undefined || typeof mcpServers.additionalProperties !== 'object') {
    throw new Error('the configuration has no mcpServers');
  }
  for (const upstream of mcpServers.additionalProperties.anyOf ?? []) {
    delete upstream.additionalProperties;
    delete upstream.required;
  }
  return {
    ...schema,
    properties: {
      ...schema.properties,
      servers: { ...mcpServers, description: '`mcpServers` under the name that VS Code has for it.' },
    },
  };
}

function withoutFormats(node: Node): Node {
  return JSON.parse(
    JSON.stringify(node, (key, value: unknown) => {
      const isFormat = key === 'format' && value === 'uri';
      return isFormat || (key === 'maximum' && value === LARGEST_INTEGER) ? undefined : value;
    }),
  ) as Node;
}
