import * as z from 'zod';
import type { TemplateSettings } from './approver-settings.ts';
import { network } from './access-request-settings.ts';
import { isTrustworthy, seconds, secret } from './units.ts';

/** The longest time that a resolver may be given to answer. Less than `questionLeaseMs`. */
const MAX_RESOLVER_SECONDS = 60;

const resolver = z.strictObject({
  /** Gets the request as a signed question, and answers it. */
  url: z.url().refine(isTrustworthy, 'a resolver is asked by https, or by http on this machine alone'),
  /** Standard Webhooks secret (`whsec_…`) that questions are signed with. */
  secret,
  /** How long it may take to answer. After that its stage is for people. */
  timeoutSeconds: seconds.max(MAX_RESOLVER_SECONDS).default(10),
  /** Networks that are not public and that it may be in all the same. */
  networks: z.array(network).default([]),
});

/** Rules and risk engines that stages ask (`automatic`), by name. */
export const resolverSettings = z
  .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'letters, digits, dot, dash and underscore'), resolver)
  .default({});

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
