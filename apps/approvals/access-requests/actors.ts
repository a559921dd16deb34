import { Problem } from './problem.ts';
import type { Submission } from './submission.ts';

type Actor = NonNullable<NonNullable<Submission['client']>['actor']>;

/** Hops of a chain that are looked at. Whoever names more names more than anybody can answer for. */
const MAX_HOPS = 8;

/**
 * The agent that a request comes from: what the denial binds, else what a client that may vouch for it says. Undefined
 * when nobody says. Every identity in `client.actor` has to be proven, or the submission is refused with a `Problem`
 * (403): one that is only claimed may decide nothing, and nothing tells approvers that it is only claimed.
 *
 * The immediate actor is proven by the bound `context.agent`, which the PDP was asked about; it and every other hop by
 * an issuer whose identities the client verifies.
 * @see ARAP, Delegation (ARAP-DLG-03, ARAP-DLG-04, ARAP-SUB-18)
 */
export function verifiedAgent(
  { context, client }: Submission,
  proof: { members: readonly string[]; issuers: ReadonlySet<string> },
): string | undefined {
  const agent = proof.members.includes('agent') && typeof context['agent'] === 'string' ? context['agent'] : undefined;
  const actor = client?.actor;
  if (actor === undefined) return agent;
  if (agent !== undefined && actor.id !== agent) throw unproven('client.actor.id is not the agent of the denial');
  const isIssued = (issuer: string | undefined) => issuer !== undefined && proof.issuers.has(issuer);
  if (!isIssued(actor.issuer) && (agent === undefined || actor.issuer !== undefined)) {
    throw unproven('client.actor: this client does not verify identities of its issuer');
  }
  for (const issuer of issuersOf(actor)) {
    if (!isIssued(issuer))
      throw unproven('client.actor.act: this client does not verify identities of an issuer in it');
  }
  return actor.id;
}

function issuersOf(actor: Actor): (string | undefined)[] {
  const issuers: (string | undefined)[] = [];
  for (let hop = actor.act; hop !== undefined; hop = hop.act) {
    issuers.push(hop.iss);
    if (issuers.length > MAX_HOPS) throw unproven(`client.actor.act: more than ${MAX_HOPS} actors in a chain`);
  }
  return issuers;
}

const unproven = (detail: string) => new Problem(403, detail);
