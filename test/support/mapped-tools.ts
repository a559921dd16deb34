import { gatewaySettings } from '../../apps/shared/config/gateway-settings.ts';
import type { Config } from '../../apps/shared/config/config.ts';
import type { Json, JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { ToolSettings } from '../../workflows/domain/tools/tool-facts.ts';
import { aTool } from './tools.ts';

/** The declaration of a bank for its `wire_transfer`. */
export const WIRE_TRANSFER = {
  evaluation: {
    subject: { type: 'identity', id: '$token.sub' },
    action: { name: 'wire_transfer' },
    resource: { type: 'account', id: '$params.arguments.to' },
    context: {
      agent: '$token.?client_id',
      amount: '$params.arguments.amount',
      memo: '$params.arguments.?memo',
    },
  },
} as const;

/** Two decisions for one call. */
export const BOTH_ACCOUNTS = {
  evaluations: {
    subject: { id: '$token.sub' },
    evaluations: [
      { action: { name: 'debit' }, resource: { type: 'account', id: '$params.arguments.from' } },
      { action: { name: 'credit' }, resource: { type: 'account', id: '$params.arguments.to' } },
    ],
  },
} as const;

/** The input schema of a tool that moves money, with a mapping in it. */
export const mappedSchema = (mapping?: Json): JsonObject => ({
  type: 'object',
  properties: {
    to: { type: 'string' },
    from: { type: 'string' },
    amount: { type: 'integer', minimum: 1 },
    memo: { type: 'string' },
  },
  ...(mapping !== undefined && { 'x-authzen-mapping': mapping }),
});

/** A tool of the upstream `bank` that declares a mapping. */
export const aMappedTool = (mapping: Json, settings: ToolSettings = {}, name = 'wire') =>
  aTool({ name, inputSchema: mappedSchema(mapping) }, { digest: `sha-256:${name}`, settings });

/** Settings of the mappings, for the configuration of a gateway. */
export const coaz = (settings: object): Pick<Config['gateway'], 'coaz'> => ({
  coaz: gatewaySettings.parse({ coaz: settings }).coaz,
});
