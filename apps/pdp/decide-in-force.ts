import { POLICIES_MEMBER, POLICY_VERSION_MEMBER } from '../../workflows/domain/authzen/own-extensions.ts';
import { PEP_CLIENT_ID } from '../../workflows/domain/authzen/pep.ts';
import { cedarPolicies } from './cedar/policy-engine.ts';
import { isPermitted } from './cedar/requestable.ts';
import { createDecide, type Decide, type Decided, type DecideWith, type DecisionBody } from './decide.ts';
import type { DecisionLog } from './decision-log.ts';
import type { PolicyEngine } from './policy-engine.ts';
import { schemaUrls } from './request-schemas.ts';
import { createSearch, type Search, type SearchWith } from './search/search.ts';
import type { PolicySource } from './versions/source.ts';
import { shortVersion, type PolicyVersion } from './versions/version.ts';

/** What decisions need beside the policies, and what stays the same when these change. */
export interface Standing extends Omit<DecideWith, 'engine' | 'policyVersion' | 'requestSchemaUrl' | 'stamp' | 'note'> {
  /** Address of the PDP. */
  readonly url: string;
  readonly decisionLog: DecisionLog | undefined;
  /** What searches need. */
  readonly searching: Omit<SearchWith, 'candidates' | 'permits'>;
}

/** Work with the policies in force; all that it decides is decided by one version. */
export type WithPolicies = <T>(work: (policies: Policies) => Promise<T>) => Promise<T>;

interface Policies {
  readonly decide: Decide;
  /** Missing where what decides cannot be searched. */
  readonly search?: Search;
}

export function decideInForce(source: Pick<PolicySource, 'use'>, standing: Standing): WithPolicies {
  const made = new WeakMap<PolicyVersion, Policies>();
  // Once for each version, not for each request.
  const policiesOf = (version: PolicyVersion): Policies => {
    const known = made.get(version);
    if (known !== undefined) return known;
    const engine = cedarPolicies(version.engine);
    const policies = { decide: decideBy({ ...version, engine }, standing), search: searchBy(version, standing) };
    made.set(version, policies);
    return policies;
  };
  return (work) => source.use((version) => work(policiesOf(version)));
}

function searchBy({ engine }: PolicyVersion, { searching }: Standing): Search {
  return createSearch({
    ...searching,
    candidates: engine.candidates,
    permits: (request) => isPermitted(engine, request),
  });
}

/** One version of what decides, named on each of its decisions. */
interface Version {
  readonly id: string;
  readonly engine: PolicyEngine;
  readonly requestSchemas: Parameters<typeof schemaUrls>[0];
}

export function decideBy(
  { id, engine, requestSchemas }: Version,
  { url, decisionLog, searching: _searching, ...standing }: Standing,
): Decide {
  return createDecide({
    ...standing,
    engine,
    policyVersion: id,
    requestSchemaUrl: schemaUrls(requestSchemas, url),
    stamp: (body, of) => stamped(body, { ...of, version: id }),
    log: standing.log.child({ policyVersion: shortVersion(id) }),
    ...(decisionLog && { note: (decided) => decisionLog.note(id, decided) }),
  });
}

/**
 * The answer with what it rests on. Our own gateway and worker put decisions on record, so they are told which policies determined
 * this one; ids of policies are no concern of other enforcement points (ARAP-DEN-19).
 */
function stamped(
  body: DecisionBody,
  { answer, requester, version }: Pick<Decided, 'answer' | 'requester'> & { version: string },
): DecisionBody {
  const policies = answer.kind === 'failed' || requester !== PEP_CLIENT_ID ? [] : answer.policies;
  const named = policies.length > 0 && { [POLICIES_MEMBER]: policies };
  return { ...body, context: { ...body.context, ...named, [POLICY_VERSION_MEMBER]: version } };
}
