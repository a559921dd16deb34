import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../workflows/domain/upstream-ports.ts';
import { toolFacts, type ToolSettings } from '../../workflows/domain/tools/tool-facts.ts';

/** A tool of the upstream `bank`, as the upstream describes it, with the operator's settings for it. */
export function aTool(
  definition: JsonObject & { readonly name: string },
  of: { digest?: string; settings?: ToolSettings } = {},
): UpstreamTool {
  return {
    kind: 'tool',
    upstream: 'bank',
    upstreamName: definition.name,
    name: `bank__${definition.name}`,
    definition,
    digest: of.digest ?? 'sha-256:0000',
    facts: toolFacts(definition, of.settings),
  };
}

export const TRANSFER = aTool(
  {
    name: 'transfer',
    description: 'Moves money.',
    inputSchema: {
      type: 'object',
      properties: { to: { type: 'string' }, amount: { type: 'integer', minimum: 1 } },
      required: ['to', 'amount'],
      additionalProperties: false,
    },
    annotations: { destructiveHint: true },
    execution: { taskSupport: 'required', requirements: ['env:test'] },
    'x-vendor': { kept: true },
    _meta: { 'com.example/kept': 1, 'dev.countersign/forged': 'canary-forged' },
  },
  { digest: 'sha-256:1111' },
);
/** No client can check a result against its promised schema: the reference leads elsewhere. */
export const UNCHECKABLE = aTool(
  { ...TRANSFER.definition, name: 'transfer', outputSchema: { $ref: 'https://example.com/schema.json' } },
  { digest: 'sha-256:3333' },
);
export const ANYTHING = aTool({ name: 'anything', inputSchema: { type: 'object' } }, { digest: 'sha-256:2222' });
