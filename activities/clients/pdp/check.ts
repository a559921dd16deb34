import { createRemoteJWKSet } from 'jose';
import type { Limits } from '../../../apps/shared/limits.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { PolicyDecisionPoint } from '../../../workflows/domain/ports.ts';
import type { DescribePdp, PdpDescription } from './metadata.ts';
import type { IsTrusted } from '../http.ts';

const ACCESS_REQUESTS = 'urn:openid:authzen:capability:access-request';

/** A problem for the operator, with its next step. */
export interface PdpProblem {
  /** `fatal`: the PDP must not be used, or cannot be. */
  readonly weight: 'fatal' | 'notable';
  readonly what: string;
  readonly nextStep: string;
}

/** A call of a tool that does not exist, by an unknown caller: no policy has a reason to permit it. */
const NONSENSE = {
  subject: { type: 'identity', id: 'countersign-self-check' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 'countersign-self-check' },
  context: { arguments: {}, call_digest: `sha-256:${'0'.repeat(64)}` },
} as const;

export interface PdpCheckOptions {
  readonly pdp: Pick<PolicyDecisionPoint, 'evaluate'>;
  readonly pdpUrl: string;
  readonly describe: DescribePdp;
  /** The configured submission URL. */
  readonly accessRequestsUrl: string | undefined;
  /** Whether an address may be sent access requests. */
  readonly isTrusted: IsTrusted;
  readonly limits: Limits;
}

/**
 * The problems of a configured PDP, in words for the operator: with its identity, its addresses, its keys, its capabilities, and
 * with an answer that permits nonsense. Throws `ERR_PDP_UNAVAILABLE` when it does not answer, or with unusable metadata (PRJ-40).
 */
export async function checkPolicyDecisionPoint(options: PdpCheckOptions): Promise<readonly PdpProblem[]> {
  const description = await options.describe();
  const found = [...addressProblems(description, options), ...(await keyProblems(description, options.limits))];
  const decision = await options.pdp.evaluate(NONSENSE);
  if (decision.kind === 'allow') {
    found.push({
      weight: 'fatal',
      what: 'it allows a tool that does not exist to an unknown caller, so it may allow anything',
      nextStep: 'stop using this policy decision point until its policies are corrected',
    });
  }
  return found;
}

function addressProblems(
  description: PdpDescription,
  { pdpUrl, accessRequestsUrl, isTrusted }: PdpCheckOptions,
): PdpProblem[] {
  const { isDescribed, accessRequests: named, capabilities } = description;
  const found: PdpProblem[] = [];
  const note = (weight: PdpProblem['weight'], what: string, nextStep: string) => found.push({ weight, what, nextStep });
  const open = [pdpUrl, named, description.jwks].find((url) => url !== undefined && !isProtected(url));
  if (open !== undefined) note('notable', `${open} is not https`, 'put TLS before it');
  if (!isDescribed) {
    note(
      'notable',
      'it has no metadata',
      'check that the expected service is at this address; its endpoints are guessed',
    );
  }
  const endpoint = accessRequestsUrl ?? named;
  if (endpoint === undefined) {
    note(
      'notable',
      'it offers no access requests',
      'set accessRequests.url, or every call is allowed or refused at once',
    );
  } else if (!isTrusted(endpoint)) {
    const nextStep = 'add its origin to accessRequests.trustedOrigins if calls may be sent there';
    note('fatal', `it has access requests sent to ${endpoint}, which is on another host`, nextStep);
  } else if (named !== undefined && named !== endpoint) {
    const nextStep = 'correct accessRequests.url or the metadata, unless this is intended';
    note('notable', `its metadata names another access_request_endpoint than ${endpoint}`, nextStep);
  } else if (isDescribed && !capabilities.includes(ACCESS_REQUESTS)) {
    // The endpoint is what counts (ARAP-DIS-04).
    note('notable', `its capabilities do not name ${ACCESS_REQUESTS}`, 'check that its denials have access_request');
  }
  return found;
}

function isProtected(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
}

/** Services that verify binding tokens and approvals need these keys. */
async function keyProblems({ jwks }: PdpDescription, { pdpKeysMs }: Limits): Promise<PdpProblem[]> {
  if (jwks === undefined) return [];
  const nextStep =
    'binding tokens and approvals cannot be verified without them: correct jwks_uri or the service behind it';
  try {
    const keys = createRemoteJWKSet(new URL(jwks), { timeoutDuration: pdpKeysMs });
    await keys.reload();
    if ((keys.jwks()?.keys.length ?? 0) > 0) return [];
    return [{ weight: 'notable', what: `there are no keys at ${jwks}`, nextStep }];
  } catch {
    return [{ weight: 'notable', what: `the keys at ${jwks} cannot be read`, nextStep }];
  }
}

/** Why the PDP cannot be used at all, as a problem like others. Rethrows any other error. */
export function asProblem(error: unknown): PdpProblem {
  if (!(error instanceof CountersignError) || error.code !== 'ERR_PDP_UNAVAILABLE') throw error;
  const [what = '', ...nextStep] = error.message.split(': ');
  return { weight: 'fatal', what, nextStep: nextStep.join(': ') || 'start it, or correct pdp.url' };
}
