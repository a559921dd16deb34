import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Clock } from '../../shared/clock.ts';
import type { ApprovalVerdict } from '../approval/verify-approval.ts';
import { createDecide } from '../decide.ts';
import { type PolicyPlaces, readPolicyTexts } from '../engine/cedar/policy-folder.ts';
import type { PolicyProblem } from '../engine/cedar/problems.ts';
import { loadCurrent, loadVersion, problemsOf } from '../engine/cedar/version.ts';
import type { PolicyVersion } from '../engine/policy-engine.ts';
import { decideBatch, readBatch, readEvaluation } from '../http/requests.ts';
import { ruleWarnings } from '../rules/warnings.ts';
import { createSearch, readSearch } from '../search.ts';
import { type Ask, type AssumedApproval, readCaseSet, runCases } from './cases.ts';

const REQUESTER = 'policy-test';

export type PolicyTest = Awaited<ReturnType<typeof testPolicies>>;

/**
 * Runs the cases of a file against policies, in this process: nothing is signed, recorded or sent. Uses the policy folder that
 * the file names, or else that of `places`, and always the directory of `places`. Throws `ERR_CONFIG_INVALID` if the file or
 * the policies cannot be used.
 */
export async function testPolicies(file: string, places: PolicyPlaces, clock: Clock) {
  const { policies = places.folder, cases } = await readCaseSet(file);
  const version = await loadCurrent({ ...places, folder: policies });
  try {
    return { file, policies, cases: await runCases(cases, askVersion(version, clock)) };
  } finally {
    version.evaluator.release();
  }
}

/** Everything that an HTTP request goes through, except for what leaves the process. */
function askVersion(version: PolicyVersion, clock: Clock): Ask {
  const search = createSearch({ secret: randomUUID(), charge: () => Promise.resolve() });
  return async ({ endpoint, request: body, approval }) => {
    const decide = decideWith(version, approval, clock);
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
        return await search(version, readSearch(endpoint, body), REQUESTER);
    }
  };
}

function decideWith(version: PolicyVersion, approval: AssumedApproval | undefined, clock: Clock) {
  const decide = createDecide({
    verifyApproval: async () => verdictOf(approval, clock),
    signBindingToken: async () => 'unsigned',
    evaluations: { record: async () => undefined },
    url: 'urn:countersign:no-decision-point',
    accessRequests: 'urn:countersign:no-access-requests',
    requestCatalogsUrl: () => undefined,
    denialTtlSeconds: 600,
    clock,
    log: pino({ enabled: false }),
  });
  return (request: EvaluationRequest) => decide(version, request, REQUESTER);
}

function verdictOf(approval: AssumedApproval | undefined, clock: Clock): ApprovalVerdict {
  // What a request claims about an approval is worth nothing.
  if (approval === undefined) return { kind: 'unverifiable' };
  const { state, template } = approval;
  if (state !== 'valid') return { kind: state };
  const facts = { verified: true, template } as const;
  const approvedUntil = new Date(clock.now() + 3_600_000).toISOString();
  return { kind: 'verified', id: 'assumed', approvedUntil, facts };
}

export type PolicyCheck = Awaited<ReturnType<typeof checkPolicies>>;

/**
 * Loads everything as the decision point does, and returns every error and warning. With errors, the folder cannot be put in
 * force, and `found` is undefined. Changes nothing.
 */
export async function checkPolicies(places: PolicyPlaces) {
  try {
    const texts = await readPolicyTexts(places);
    const { id, evaluator, requestSchemas, people } = await loadVersion(texts, places);
    const all = [...evaluator.policies.values()];
    const asking = all.flatMap(({ template }) => template ?? []);
    evaluator.release();
    return {
      errors: [] as readonly PolicyProblem[],
      warnings: [...evaluator.warnings, ...ruleWarnings(places.rules?.all ?? [])],
      found: {
        version: id,
        files: texts.files.policies.length,
        policies: all.length,
        requestable: asking.length,
        /** Templates of access requests that policies ask for. */
        templates: [...new Set(asking)].sort(),
        requestSchemas: requestSchemas.texts.size,
        obligations: [...evaluator.obligations.values()].map(({ id: name, type }) => ({ id: name, type })),
        people,
      },
    };
  } catch (error) {
    const errors = problemsOf(error, places);
    if (!errors) throw error;
    return { errors, warnings: [] as readonly PolicyProblem[], found: undefined };
  }
}
