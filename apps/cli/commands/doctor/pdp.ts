import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { Config } from '../../../shared/config/config.ts';
import { attempt, fail, ok, warn, type Finding } from './check.ts';
import { getJson } from './services.ts';

const metadataSchema = z.looseObject({
  policy_decision_point: z.string(),
  access_evaluation_endpoint: z.string(),
  access_request_endpoint: z.string().optional(),
  jwks_uri: z.string().optional(),
  capabilities: z.array(z.string()).default([]),
});
type Metadata = z.infer<typeof metadataSchema>;
const keysSchema = z.looseObject({ keys: z.array(z.looseObject({})).min(1) });
const decisionSchema = z.looseObject({ decision: z.boolean() });

const ACCESS_REQUESTS = 'urn:openid:authzen:capability:access-request';
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/** Whether the PDP is who it says, can be trusted with what it is sent, and denies what makes no sense (PRJ-40). */
export async function checkPdp({ urls }: Config, token: string | undefined): Promise<Finding[]> {
  let metadata: Metadata | undefined;
  const described = await attempt('pdp', 'start the policy decision point, or mend pdp.url', async () => {
    metadata = metadataSchema.parse(await getJson(metadataUrl(urls.pdp)));
    return describe(metadata, urls.pdp);
  });
  if (!metadata) return [described];
  const { jwks_uri: jwks, access_evaluation_endpoint: endpoint } = metadata;
  return [described, ...(jwks === undefined ? [] : [await checkKeys(jwks)]), await probe(endpoint, token)];
}

/** @see AuthZEN Authorization API 1.0, section 9: the path of the identifier comes last. */
function metadataUrl(pdp: string): string {
  const { origin, pathname } = new URL(pdp);
  return `${origin}/.well-known/authzen-configuration${pathname.replace(/\/+$/, '')}`;
}

function describe(metadata: Metadata, url: string): Finding {
  const name = 'pdp';
  const { policy_decision_point: identity, capabilities } = metadata;
  if (identity !== url) return fail(name, `the PDP calls itself ${identity}`, `set pdp.url to ${identity}`);
  const endpoints = [metadata.access_evaluation_endpoint, metadata.access_request_endpoint, metadata.jwks_uri];
  const open = endpoints.find((one) => one !== undefined && !isProtected(one));
  if (open !== undefined)
    return fail(name, `${open} is not https`, 'evaluations carry arguments: put TLS before the PDP');
  if (metadata.access_request_endpoint === undefined || !capabilities.includes(ACCESS_REQUESTS)) {
    return warn(
      name,
      `${url} offers no access requests`,
      'every call is then allowed or refused at once; nothing waits for approval',
    );
  }
  return ok(name, `${url}, with access requests`);
}

function isProtected(text: string): boolean {
  const url = new URL(text);
  return url.protocol === 'https:' || LOOPBACK.includes(url.hostname);
}

function checkKeys(url: string): Promise<Finding> {
  return attempt('pdp keys', 'binding tokens and approvals cannot be checked without them', async () => {
    const { keys } = keysSchema.parse(await getJson(url));
    return ok('pdp keys', `${keys.length} published`);
  });
}

/** An action nobody has ever heard of, by nobody, on nothing. Whoever permits that permits everything. */
function probe(endpoint: string, token: string | undefined): Promise<Finding> {
  const name = 'pdp probe';
  const nonsense = `countersign-doctor-${randomUUID()}`;
  return attempt(name, 'look at the log of the policy decision point', async () => {
    if (token === undefined) {
      return warn(name, 'not asked: the PDP token is not known here', 'set COUNTERSIGN_PDP_TOKEN and run it again');
    }
    const body = JSON.stringify({
      subject: { type: nonsense, id: nonsense },
      action: { name: nonsense },
      resource: { type: nonsense, id: nonsense },
    });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const { decision } = decisionSchema.parse(await getJson(endpoint, { method: 'POST', headers, body }));
    if (!decision) return ok(name, 'denies what makes no sense');
    return fail(
      name,
      'the PDP permits an action that does not exist',
      'stop using this PDP until its policies are mended',
    );
  });
}
