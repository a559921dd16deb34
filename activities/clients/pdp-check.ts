import * as z from 'zod';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { PolicyDecisionPoint } from '../../workflows/domain/ports.ts';
import { EVALUATION_PATH } from './pdp.ts';

const TIMEOUT_MS = 5_000;
const WELL_KNOWN = '/.well-known/authzen-configuration';

const metadataBody = z.looseObject({
  policy_decision_point: z.string(),
  access_evaluation_endpoint: z.string(),
  access_request_endpoint: z.string().optional(),
});

/** A call that nobody makes, of a tool that does not exist: no policy has a reason to say yes to it. */
const NONSENSE = {
  subject: { type: 'identity', id: 'countersign-self-check' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 'countersign-self-check' },
  context: { arguments: {}, call_digest: `sha-256:${'0'.repeat(64)}` },
} as const;

/**
 * What keeps a configured PDP from being used as it is meant, in words for the operator; empty when nothing does.
 * Throws `ERR_PDP_UNAVAILABLE` when it does not answer (PRJ-40).
 */
export async function checkPolicyDecisionPoint(options: {
  pdp: Pick<PolicyDecisionPoint, 'evaluate'>;
  pdpUrl: string;
  accessRequestsUrl: string;
}): Promise<readonly string[]> {
  const { pdp, pdpUrl, accessRequestsUrl } = options;
  const problems: string[] = [];
  const metadata = metadataBody.safeParse(await readMetadata(pdpUrl));
  if (metadata.success) {
    const { data } = metadata;
    const mustBe = (member: keyof typeof data, expected: string) => {
      if (data[member] !== expected) problems.push(`its metadata names another ${member} than ${expected}`);
    };
    mustBe('policy_decision_point', pdpUrl);
    mustBe('access_evaluation_endpoint', pdpUrl + EVALUATION_PATH);
    mustBe('access_request_endpoint', accessRequestsUrl);
  } else {
    problems.push('its AuthZEN metadata cannot be read');
  }
  const decision = await pdp.evaluate(NONSENSE);
  if (decision.kind === 'allow')
    problems.push('it allows a tool that does not exist to somebody who does not, so it may allow anything');
  return problems;
}

async function readMetadata(pdpUrl: string): Promise<unknown> {
  const { origin, pathname } = new URL(pdpUrl);
  try {
    const response = await fetch(`${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}`, {
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    return response.ok ? parseJson(text) : undefined;
  } catch (cause) {
    throw new CountersignError('ERR_PDP_UNAVAILABLE', 'the policy decision point gives no answer', { cause });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
