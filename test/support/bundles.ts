import { randomUUID } from 'node:crypto';
import type { JWK } from 'jose';
import type { Config } from '../../apps/shared/config/config.ts';
import type { ApprovalsUnderTest } from './approvals.ts';
import { boundBundle, boundParts } from '../../workflows/domain/authzen/denial-binding.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { signedDenial, type DenialChanges } from './signed-denials.ts';
import { untilAnswered } from './wait-for.ts';

/** An item as approvers see it. */
export interface BundleItem {
  readonly id: string;
  readonly callDigest: string;
  readonly bundle?: { readonly id: string; readonly position: number };
}

/** A requested thing, as an item of a bundle. */
export interface Item {
  readonly resource: { readonly type: string; readonly id: string };
  readonly action: { readonly name: string };
}

/** The items that a PDP denied together or one by one, and for whom. */
export interface Denying extends DenialChanges {
  readonly urls: Config['urls'];
  readonly key: JWK;
  readonly subject?: string;
  readonly context?: JsonObject;
}

/** A transfer to a new account, whose id begins with `acct-` and the group; each is different. */
export const aTransfer = (group = 'x'): Item => ({
  resource: { type: 'account', id: `acct-${group}-${randomUUID()}` },
  action: { name: 'wire_transfer' },
});

/** The requester, and the context that every denial binds. */
export const askerOf = ({ subject = 'agent', context = { agent: 'agent' } }: Pick<Denying, 'subject' | 'context'>) => ({
  subject: { type: 'identity', id: subject },
  context,
});

/** The denial of one item, or of several together, as a PDP signs it. */
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
  return signedDenial(of, { parts, members }, of);
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

/** An open bundle of this many items, in their order, the first one of group `a`, and the same submission once more. */
export async function openBundle(service: ApprovalsUnderTest, n: number, more: object = {}) {
  const submitted = Array.from({ length: n }, (_, index) => aTransfer(index === 0 ? 'a' : 'b'));
  const body = { ...(await bundleOf(submitted, denying(service))), ...more };
  const key = { 'idempotency-key': randomUUID() };
  const again = () => service.submit(body, key);
  const { status, body: answer } = await untilAnswered(again);
  if (status !== 202) throw new Error(`the bundle was answered ${status}: ${JSON.stringify(answer)}`);
  const id = answer.task.id as string;
  const listed = (await service.asPerson('alice', '/requests')).body.requests as BundleItem[];
  const items = listed.filter(({ bundle }) => bundle?.id === id);
  const byPosition = (a: BundleItem, b: BundleItem) => (a.bundle?.position ?? 0) - (b.bundle?.position ?? 0);
  return { id, submitted, items: items.sort(byPosition), again };
}
