import { canonicalJson, type Json } from '../../../workflows/domain/canonical-json.ts';
import { sha256 } from '../../shared/sha256.ts';
import { decideBy, decideInForce, type Standing, type WithPolicies } from '../decide-in-force.ts';
import type { PolicySource } from '../versions/source.ts';
import { foreignPolicies, type ForeignPolicies } from './policy-engine.ts';

/** What decides, as the host has it: policies of our own that may change meanwhile, or a PDP of somebody else's. */
export interface Deciding extends Omit<PolicySource, 'use' | 'status'> {
  /** Whether it can be asked who may do what. */
  readonly canSearch: boolean;
  inForce(standing: Standing): WithPolicies;
  status(): object;
}

/** By the policies of this source. */
export function ownPolicies(source: PolicySource): Deciding {
  return {
    canSearch: true,
    inForce: (standing) => decideInForce(source, standing),
    status: () => source.status(),
    findRequestSchema: (name) => source.findRequestSchema(name),
    reload: () => source.reload(),
    close: () => source.close(),
  };
}

/** By somebody else's PDP. Its own versions are its own matter: what is named on a decision is what was agreed with it. */
export function foreignSource(of: ForeignPolicies & { readonly url: string }): Deciding {
  const { url, dialect, requestable } = of;
  const id = `sha-256:${sha256(canonicalJson(JSON.parse(JSON.stringify({ url, dialect, requestable })) as Json))}`;
  const version = { id, engine: foreignPolicies(of), requestSchemas: { pathFor: () => undefined } };
  return {
    canSearch: false,
    inForce: (standing) => {
      const decide = decideBy(version, standing);
      return (work) => work({ decide });
    },
    status: () => ({ policy_version: id }),
    findRequestSchema: () => undefined,
    reload: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
