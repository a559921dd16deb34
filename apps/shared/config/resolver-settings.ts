import * as z from 'zod';
import type { TemplateSettings } from './approver-settings.ts';
import { network } from './access-request-settings.ts';
import { isTrustworthy, seconds, secret } from './units.ts';

/** The longest time that a resolver may be given to answer. Less than `questionLeaseMs`. */
const MAX_RESOLVER_SECONDS = 60;

const resolver = z.strictObject({
  url: z
    .url()
    .refine(isTrustworthy, 'a resolver is asked by https, or by http on this machine alone')
    .describe('Address that receives the request as a signed message, and answers with a verdict.'),
  secret: secret.describe('Standard Webhooks secret (`whsec_…`) that signs the messages.'),
  timeoutSeconds: seconds
    .max(MAX_RESOLVER_SECONDS)
    .default(10)
    .describe('How long the resolver may take to answer, in seconds. After this time the people of the stage decide.'),
  networks: z
    .array(network)
    .default([])
    .describe('Private networks that the resolver may be in. Without it, its address must be public.'),
});

export const resolverSettings = z
  .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'letters, digits, dot, dash and underscore'), resolver)
  .default({})
  .describe('Rule engines and risk engines that stages ask (`automatic`), by name.');

export type ResolverSettings = z.infer<typeof resolver>;

interface Approvals {
  readonly templates: Readonly<Record<string, TemplateSettings>>;
  readonly resolvers: Readonly<Record<string, ResolverSettings>>;
}

/** Stages ask resolvers that there are, and one that counts once in a request is asked once. */
export function checkResolvers({ templates, resolvers }: Approvals, context: z.core.$RefinementCtx): void {
  for (const [name, { stages, separateStages }] of Object.entries(templates)) {
    for (const [index, { automatic }] of stages.entries()) {
      const fault = (message: string) =>
        context.addIssue({ code: 'custom', path: ['templates', name, 'stages', index, 'automatic'], message });
      if (automatic === undefined) continue;
      if (!Object.hasOwn(resolvers, automatic)) fault(unknown(automatic, Object.keys(resolvers)));
      const isAskedBefore = stages.slice(0, index).some((earlier) => earlier.automatic === automatic);
      if (isAskedBefore && separateStages) {
        fault('counts in one stage of a request only: name another resolver, or set separateStages: false');
      }
    }
  }
}

const unknown = (name: string, known: readonly string[]) =>
  `there is no resolver ${JSON.stringify(name)}: add it to approvals.resolvers, ${
    known.length === 0 ? 'which has none' : `or name one of these: ${known.join(', ')}`
  }`;
