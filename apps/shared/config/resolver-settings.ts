import * as z from 'zod';
import type { TemplateSettings } from './approver-settings.ts';
import { listOf, network, plainName, recordOf, seconds, secret, trustworthyUrl } from './units.ts';

const resolver = z.strictObject({
  url: trustworthyUrl.describe('Address that receives the request as a signed message, and answers with a verdict.'),
  secret: secret.describe('Standard Webhooks secret (`whsec_…`) that signs the messages.'),
  // Less than `questionLeaseMs`.
  timeoutSeconds: seconds
    .max(60)
    .default(10)
    .describe('How long the resolver may take to answer, in seconds. After this time the people of the stage decide.'),
  networks: listOf(network).describe(
    'Private networks that the resolver may be in. Without it, its address must be public.',
  ),
});

export const resolverSettings = recordOf(plainName, resolver).describe(
  'Rule engines and risk engines that stages ask (`automatic`), by name.',
);

interface Approvals {
  readonly templates: Readonly<Record<string, TemplateSettings>>;
  readonly resolvers: object;
}

/** Stages name only configured resolvers. A resolver that counts once in a request is in one stage. */
export function checkResolvers({ templates, resolvers }: Approvals, context: z.core.$RefinementCtx): void {
  for (const [name, { stages, separateStages }] of Object.entries(templates)) {
    for (const [index, { automatic }] of stages.entries()) {
      const fault = (message: string) =>
        context.addIssue({ code: 'custom', path: ['templates', name, 'stages', index, 'automatic'], message });
      if (automatic === undefined) continue;
      if (!Object.hasOwn(resolvers, automatic)) {
        const known = Object.keys(resolvers).join(', ');
        const others = known === '' ? 'which has none' : `or name one of these: ${known}`;
        fault(`there is no resolver ${JSON.stringify(automatic)}: add it to approvals.resolvers, ${others}`);
      }
      const isAskedBefore = stages.slice(0, index).some((earlier) => earlier.automatic === automatic);
      if (isAskedBefore && separateStages) {
        fault('counts in one stage of a request only: name another resolver, or set separateStages: false');
      }
    }
  }
}
