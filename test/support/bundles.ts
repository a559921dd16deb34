import { createHash, randomUUID } from 'node:crypto';
import { importJWK, SignJWT, type JWK } from 'jose';
import type { Config } from '../../apps/shared/config/config.ts';
import type { ApprovalsUnderTest } from './approvals.ts';
import { boundBundle, boundParts } from '../../workflows/domain/authzen/denial-binding.ts';
import { canonicalJson, type JsonObject } from '../../workflows/domain/canonical-json.ts';

/** An item as approvers see it. */
export interface BundleItem {
  readonly id: string;
  readonly callDigest: string;
  readonly bundle?: { readonly id: string; readonly position: number };
}

/** A thing that is asked for, as an item of a bundle. */
export interface Item {
  readonly resource: { readonly type: string; readonly id: string };
  readonly action: { readonly name: string };
}

/** What a PDP denied together or alone, and for whom. */
export interface Denying {
  readonly urls: Config['urls'];
  readonly key: JWK;
  readonly subject?: string;
  readonly context?: JsonObject;
  /** Claims of the token that differ; undefined leaves one out. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** A transfer to an account of its own; no two are alike. */
export const aTransfer = (): Item => ({
  resource: { type: 'account', id: `acct-${randomUUID()}` },
  action: { name: 'wire_transfer' },
});

/** Who asks, and the context that every denial binds. */
export const askerOf = ({ subject = 'agent', context = { agent: 'agent' } }: Pick<Denying, 'subject' | 'context'>) => ({
  subject: { type: 'identity', id: subject },
  context,
});

/** What of a denial is in its token. */
export const hashOf = (parts: JsonObject) => createHash('sha256').update(canonicalJson(parts)).digest('base64url');

/** The denial of one thing, or of several together, as a PDP signs it. */
export async function denialOf(items: readonly Item[] | Item, of: Denying) {
  const { subject, context } = askerOf(of);
  const members = Object.keys(context);
  const questions = (Array.isArray(items) ? (items as Item[]) : [items as Item]).map((item) => ({
    ...item,
    subject,
    context,
  }));
  const [first = { ...aTransfer(), subject, context }] = questions;
  const parts = Array.isArray(items) ? boundBundle(questions, members) : boundParts(first, members);
  const expiresAt = new Date((Math.floor(Date.now() / 1_000) + 600) * 1_000);
  const evaluationId = `eval_${randomUUID()}`;
  const claims = {
    iss: of.urls.pdp,
    aud: of.urls.accessRequests,
    iat: Math.floor(Date.now() / 1_000),
    exp: Math.floor(expiresAt.getTime() / 1_000),
    jti: randomUUID(),
    evaluation_id: evaluationId,
    denial_expires_at: expiresAt.toISOString(),
    requester: 'mcp-gateway',
    binding_context_members: members,
    binding_hash: hashOf(parts),
    ...of.claims,
  };
  const token = await new SignJWT(JSON.parse(JSON.stringify(claims)) as Record<string, unknown>)
    .setProtectedHeader({ alg: 'ES256', kid: String(of.key.kid), typ: 'JWT' })
    .sign(await importJWK(of.key, 'ES256'));
  return { evaluation_id: evaluationId, expires_at: String(claims.denial_expires_at), binding_token: token };
}

/** A submission of these items with one denial about all. */
export async function bundleOf(items: readonly Item[], of: Denying) {
  return { ...askerOf(of), items, denial: await denialOf(items, of) };
}

/** The same with a denial for each. */
export async function bundleOfDenials(items: readonly Item[], of: Denying) {
  const denied = await Promise.all(items.map(async (item) => ({ ...item, denial: await denialOf(item, of) })));
  return { ...askerOf(of), items: denied };
}

/** Denials of the PDP that this service trusts. */
export const denying = ({ config, secrets }: ApprovalsUnderTest): Denying => ({
  urls: config.urls,
  key: secrets.pdpSigningKey,
});

/** An open bundle of so many items, in their order, and the same submission once more. */
export async function openBundle(service: ApprovalsUnderTest, n: number, more: object = {}) {
  const submitted = Array.from({ length: n }, () => aTransfer());
  const body = { ...(await bundleOf(submitted, denying(service))), ...more };
  const key = { 'idempotency-key': randomUUID() };
  const again = () => service.submit(body, key);
  const { status, body: answer } = await again();
  if (status !== 202) throw new Error(`the bundle was answered ${status}: ${JSON.stringify(answer)}`);
  const id = answer.task.id as string;
  const listed = (await service.asPerson('alice', '/requests')).body.requests as BundleItem[];
  const items = listed.filter(({ bundle }) => bundle?.id === id);
  const byPosition = (a: BundleItem, b: BundleItem) => (a.bundle?.position ?? 0) - (b.bundle?.position ?? 0);
  return { id, submitted, items: items.sort(byPosition), again };
}
