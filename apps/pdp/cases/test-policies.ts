import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Clock } from '../../shared/clock.ts';
import { decideBatch } from '../batch.ts';
import type { Engine } from '../cedar/engine.ts';
import type { ApprovalVerdict } from '../cedar/facts.ts';
import { cedarPolicies } from '../cedar/policy-engine.ts';
import { isPermitted } from '../cedar/requestable.ts';
import { createDecide } from '../decide.ts';
import { readBatch, readEvaluation } from '../requests.ts';
import { createPageTokens } from '../search/page-token.ts';
import { readSearch } from '../search/search-requests.ts';
import { createSearch } from '../search/search.ts';
import { loadVersion, readPolicyTexts, type PolicyPlaces } from '../versions/version.ts';
import { readCaseSet, type AssumedApproval } from './case-set.ts';
import { runCases, type Ask, type CaseResult } from './run-cases.ts';

const REQUESTER = 'policy-test';

export interface PolicyTest {
  readonly file: string;
  /** The policy folder that was asked. */
  readonly policies: string;
  readonly cases: readonly CaseResult[];
}

/**
 * Runs the cases of a file against policies, in this process: nothing is signed, recorded or sent. The file's own policy
 * folder is asked, else that of `places`; people are always those of its directory. Throws `ERR_CONFIG_INVALID` when the file
 * or the policies cannot be used.
 */
export async function testPolicies(file: string, places: PolicyPlaces, clock: Clock): Promise<PolicyTest> {
  const { policies = places.folder, cases } = await readCaseSet(file);
  const asked = { ...places, folder: policies };
  const { engine } = await loadVersion(await readPolicyTexts(asked), asked);
  try {
    return { file, policies, cases: await runCases(cases, askEngine(engine, clock)) };
  } finally {
    engine.release();
  }
}

/** The whole way of an evaluation, but for what leaves the process. */
function askEngine(engine: Engine, clock: Clock): Ask {
  const search = createSearch({
    candidates: engine.candidates,
    permits: (request) => isPermitted(engine, request),
    tokens: createPageTokens(randomUUID()),
    charge: () => Promise.resolve(),
  });
  return async ({ endpoint, request: body, approval }) => {
    const decide = deciding(engine, approval, clock);
    switch (endpoint) {
      case 'evaluation': {
        const request = readEvaluation(body);
        return await decide(approval ? { ...request, context: { ...request.context, approval } } : request);
      }
      case 'evaluations': {
        const batch = readBatch(body);
        return batch ? await decideBatch(batch, decide) : await decide(readEvaluation(body));
      }
      case 'subject':
      case 'resource':
      case 'action':
        return await search(readSearch(endpoint, body), REQUESTER);
    }
  };
}

function deciding(engine: Engine, approval: AssumedApproval | undefined, clock: Clock) {
  const decide = createDecide({
    engine: cedarPolicies(engine),
    policyVersion: 'not in force',
    verifyApproval: () => Promise.resolve(verdictOf(approval, clock)),
    signBindingToken: () => Promise.resolve('unsigned'),
    evaluations: { record: () => Promise.resolve() },
    accessRequests: 'urn:countersign:no-access-requests',
    requestSchemaUrl: () => undefined,
    requestCatalogsUrl: () => undefined,
    denialTtlSeconds: 600,
    clock,
    log: pino({ enabled: false }),
  });
  return (request: EvaluationRequest) => decide(request, REQUESTER);
}

function verdictOf(approval: AssumedApproval | undefined, clock: Clock): ApprovalVerdict {
  // What a request claims about an approval is worth nothing, here as everywhere.
  if (approval === undefined) return { kind: 'unverifiable' };
  const { state, template } = approval;
  if (state !== 'valid') return { kind: state };
  const facts = { verified: true, template } as const;
  const approvedUntil = new Date(clock.now() + 3_600_000).toISOString();
  return { kind: 'verified', id: 'assumed', approvedUntil, facts };
}
