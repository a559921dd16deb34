import { createRemoteJWKSet, jwtVerify } from 'jose';
import type { Dispatcher } from 'undici';
import * as z from 'zod';
import type { Timing } from '../../../apps/shared/limits.ts';
import { type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { parseAnswer } from '../../../workflows/domain/faithful-json.ts';
import { createKeptDocument, type HttpAnswer, type IsTrusted, sendHttp } from '../http.ts';

const WELL_KNOWN = '/.well-known/authzen-configuration';
/** AuthZEN's endpoints of a PDP that has no metadata. */
const DEFAULT_PATHS = { evaluation: '/access/v1/evaluation', evaluations: '/access/v1/evaluations' };
/** Signatures that need no shared secret. */
const ALGORITHMS = ['ES256', 'ES384', 'EdDSA', 'PS256', 'RS256'];

/** The metadata of a PDP. Unknown members are ignored (AZ-MD-10). */
const metadataBody = z.looseObject({
  policy_decision_point: z.string(),
  access_evaluation_endpoint: z.string(),
  access_evaluations_endpoint: z.string().optional(),
  access_request_endpoint: z.string().optional(),
  jwks_uri: z.string().optional(),
  capabilities: z.array(z.string()).optional().catch(undefined),
});

/** The endpoints of a PDP. It does not offer a missing one (AZ-MD-07). */
export interface PdpDescription {
  /** Whether the PDP described itself; otherwise these are the paths that AuthZEN names. */
  readonly isDescribed: boolean;
  readonly evaluation: string;
  readonly evaluations: string | undefined;
  /** The submission URL for its access requests. May be an address that is not trusted. */
  readonly accessRequests: string | undefined;
  readonly jwks: string | undefined;
  readonly capabilities: readonly string[];
}

export interface PdpMetadataOptions extends Timing {
  /** The identifier of the PDP, byte by byte as it names itself. */
  readonly pdpUrl: string;
  /** `ignored`: the metadata are not fetched, and the paths are those that AuthZEN names. */
  readonly metadata: 'used' | 'ignored';
  /** Who signs the metadata, and where the signer's keys are. Metadata without the signature are then refused (PRJ-37). */
  readonly signedMetadata?: { readonly issuer: string; readonly jwksUrl: string } | undefined;
  readonly isTrusted: IsTrusted;
  readonly via: Dispatcher | undefined;
}

/** The description of the PDP by its present metadata, by the rules of HTTP caching. Throws `ERR_PDP_UNAVAILABLE` when they cannot be used. */
export type DescribePdp = () => Promise<PdpDescription>;

/** @see AuthZEN Authorization API 1.0, section 9 */
export function createPdpMetadata(options: PdpMetadataOptions): DescribePdp {
  const { pdpUrl, metadata, signedMetadata: signed } = options;
  if (metadata === 'ignored') return async () => byDefault(pdpUrl);
  const url = metadataUrl(pdpUrl);
  const read = createKeptDocument(url, () => fetchMetadata(url, options), options.clock);
  // A signature may end before its document does, so it is verified each time.
  if (signed !== undefined) return describeSigned(read, options, createSignedReader(signed, options.limits));
  let last: { readonly answer: HttpAnswer; readonly description: PdpDescription } | undefined;
  return async () => {
    const answer = await read();
    if (last?.answer === answer) return last.description;
    const description = answer.status === 404 ? byDefault(pdpUrl) : describe(documentIn(answer), options);
    last = { answer, description };
    return description;
  };
}

const describeSigned =
  (
    read: () => Promise<HttpAnswer>,
    options: PdpMetadataOptions,
    verify: ReturnType<typeof createSignedReader>,
  ): DescribePdp =>
  async () => {
    const plain = documentIn(await read());
    return describe({ ...plain, ...(await verify(plain)) }, options);
  };

function documentIn({ status, text }: HttpAnswer): JsonObject {
  if (status !== 200) throw unusable(`is answered with ${status}`, 'start it, or correct pdp.url');
  return parse(text);
}

/** The well-known path comes between host and path of the identifier (AZ-MD-02). */
export function metadataUrl(pdpUrl: string): string {
  const { origin, pathname } = new URL(pdpUrl);
  return `${origin}${WELL_KNOWN}${withoutSlash(pathname)}`;
}

const CORRECT_OR_IGNORE = 'correct the policy decision point, or set pdp.metadata to "ignored"';

const withoutSlash = (text: string) => text.replace(/\/+$/, '');

function byDefault(pdpUrl: string): PdpDescription {
  const base = withoutSlash(pdpUrl);
  return {
    isDescribed: false,
    evaluation: base + DEFAULT_PATHS.evaluation,
    evaluations: base + DEFAULT_PATHS.evaluations,
    accessRequests: undefined,
    jwks: undefined,
    capabilities: [],
  };
}

async function fetchMetadata(url: string, { clock, limits, via }: PdpMetadataOptions): Promise<HttpAnswer> {
  try {
    const headers = { accept: 'application/json' };
    return await sendHttp(url, { method: 'GET', headers, timeoutMs: limits.pdpMetadataMs, clock, via });
  } catch (cause) {
    throw new CountersignError('ERR_PDP_UNAVAILABLE', 'the policy decision point gives no answer', { cause });
  }
}

function parse(text: string): JsonObject {
  try {
    return objectOf(parseAnswer(text));
  } catch {
    throw unusable('is not JSON', CORRECT_OR_IGNORE);
  }
}

function describe(document: unknown, { pdpUrl, isTrusted }: PdpMetadataOptions): PdpDescription {
  const parsed = metadataBody.safeParse(document);
  if (!parsed.success) throw unusable('has no members that can be used', CORRECT_OR_IGNORE);
  const { data } = parsed;
  const { policy_decision_point: identity, access_evaluation_endpoint: evaluation } = data;
  // Nothing in it is used (AZ-MD-06).
  if (identity !== pdpUrl) throw unusable(`is that of ${identity}, and not of ${pdpUrl}`, 'correct pdp.url');
  if (!isTrusted(evaluation)) {
    const nextStep = 'add its origin to pdp.trustedOrigins if calls may be sent there';
    throw unusable(`names ${evaluation} for evaluations, which is on another host`, nextStep);
  }
  const { access_evaluations_endpoint: evaluations } = data;
  return {
    isDescribed: true,
    evaluation,
    evaluations: evaluations !== undefined && isTrusted(evaluations) ? evaluations : undefined,
    accessRequests: data.access_request_endpoint,
    jwks: data.jwks_uri,
    capabilities: data.capabilities ?? [],
  };
}

/** The signed members, which win over the plain ones (AZ-MD-14). A fault in them is no reason to use the plain ones (AZ-MD-15). */
function createSignedReader({ issuer, jwksUrl }: { issuer: string; jwksUrl: string }, limits: Timing['limits']) {
  const keys = createRemoteJWKSet(new URL(jwksUrl), { timeoutDuration: limits.pdpMetadataMs });
  return async ({ signed_metadata: token }: JsonObject): Promise<object> => {
    const nextStep = 'correct the policy decision point, or remove pdp.signedMetadata';
    if (typeof token !== 'string') throw unusable('is not signed', nextStep);
    try {
      const { payload } = await jwtVerify(token, keys, { issuer, algorithms: ALGORITHMS });
      if ('signed_metadata' in payload) throw new Error('signed metadata within signed metadata');
      return payload;
    } catch (cause) {
      throw unusable(`is not signed by ${issuer}`, nextStep, cause);
    }
  };
}

function unusable(what: string, nextStep: string, cause?: unknown): CountersignError {
  const message = `the metadata of the policy decision point ${what}: ${nextStep}`;
  return new CountersignError('ERR_PDP_UNAVAILABLE', message, { cause });
}
