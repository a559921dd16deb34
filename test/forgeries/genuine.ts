import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { signedHeaders } from '../../apps/shared/http/webhook-signature.ts';
import { aTransfer, bundleOf, bundleOfDenials } from '../support/bundles.ts';
import { waitFor } from '../support/wait-for.ts';
import { aQuestion, type Approval, type Denial, type Ground, type Post, type Question } from './ground.ts';

/**
 * Genuine denials, approvals and signatures. None has been used yet, so a refusal can only be due to the attacker's
 * change.
 */
export interface Genuine {
  readonly denied: { readonly question: Question; readonly denial: Denial };
  readonly approved: { readonly question: Question; readonly approval: Approval };
  /** Denials of several items: one about all, and one for each. The key of the PDP has signed them. */
  readonly bundles: {
    readonly whole: Awaited<ReturnType<typeof bundleOf>>;
    readonly each: Awaited<ReturnType<typeof bundleOfDenials>>;
  };
  readonly callback: Message;
  readonly decision: Message;
}

/** A signed message of another service. */
export interface Message {
  readonly to: 'callback' | 'decision';
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const jsonFor = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });

/** A question to the PDP, with an approval if there is one. */
export function asking({ secrets }: Ground, question: object, approval?: unknown): Post {
  const { context } = question as { context: object };
  const body = JSON.stringify(approval === undefined ? question : { ...question, context: { ...context, approval } });
  return { to: 'question', headers: jsonFor(secrets.pdpToken), body };
}

/** A submission to the approval service. */
export function submitting({ secrets }: Ground, body: object | string, key: string = randomUUID()): Post {
  const headers = { ...jsonFor(secrets.accessRequestToken), 'idempotency-key': key };
  return { to: 'submission', headers, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

/** The secret that messages of this kind are signed with. */
export const secretFor = ({ secrets }: Ground, to: Message['to']) =>
  to === 'callback' ? secrets.callbackSecret : secrets.decisionWebhookSecret;

/** A message, signed with a secret: without one, the sender's own. */
export function sending(ground: Ground, message: Message, of: { secret?: string; at?: Date } = {}): Post {
  const body = JSON.stringify(message.body);
  const webhook = new Webhook(of.secret ?? secretFor(ground, message.to));
  return { to: message.to, headers: signedHeaders(webhook, { id: message.id, body, at: of.at ?? new Date() }), body };
}

/** Has everything made by the parties that may make it. */
export async function makeGenuine(ground: Ground): Promise<Genuine> {
  const signed = { urls: ground.config.urls, key: ground.secrets.pdpSigningKey };
  const three = () => [aTransfer(), aTransfer(), aTransfer()];
  const [denied, approved, undecided, whole, each] = await Promise.all([
    ...([deny(ground), approve(ground), open(ground)] as const),
    ...([bundleOf(three(), signed), bundleOfDenials(three(), signed)] as const),
  ]);
  return {
    denied,
    approved,
    bundles: { whole, each },
    callback: {
      to: 'callback',
      id: `msg_${randomUUID()}`,
      body: { state: 's', task: { id: undecided.body.requestId, status: 'approved' } },
    },
    decision: undecided,
  };
}

/** Shows that each is taken for genuine. Throws when one is not, since then a refusal would prove nothing. */
export async function useGenuine(ground: Ground, genuine: Genuine): Promise<void> {
  const { denied, approved, bundles, callback, decision } = genuine;
  await Promise.all([
    mustAccept(ground, submitting(ground, { ...denied.question, denial: denied.denial })),
    mustAccept(ground, asking(ground, approved.question, approved.approval)),
    mustAccept(ground, sending(ground, callback)),
    mustAccept(ground, sending(ground, decision)),
    mustAccept(ground, submitting(ground, bundles.whole)),
    mustAccept(ground, submitting(ground, bundles.each)),
  ]);
}

async function deny(ground: Ground): Promise<Genuine['denied']> {
  const question = aQuestion();
  let text = '';
  // On a busy machine a denial may come too late to be recorded; the gateway would ask again, too.
  const context = await waitFor(async () => {
    ({ text } = await ground.post(asking(ground, question)));
    const { context: said } = JSON.parse(text) as { context: { evaluation_id: string; access_request?: Denial } };
    return said.access_request && { ...said.access_request, evaluation_id: said.evaluation_id };
  }).catch(() => {
    throw new Error(`nothing can be asked for: ${text}\n${ground.complaints()}`);
  });
  const { evaluation_id, expires_at, binding_token } = context;
  return { question, denial: { evaluation_id, expires_at, binding_token } };
}

/** An open request, with the decision on it that has not been sent yet. */
async function open(ground: Ground) {
  const { question, denial } = await deny(ground);
  const text = await mustAccept(ground, submitting(ground, { ...question, denial }));
  const { task } = JSON.parse(text) as { task: { id: string } };
  const body = {
    requestId: task.id,
    generation: 1,
    callDigest: question.context.call_digest,
    approver: { subject: 'alice' },
    verdict: 'approve',
    reason: 'as discussed',
  };
  return { to: 'decision', id: `msg_${randomUUID()}`, body, question } as const;
}

async function approve(ground: Ground): Promise<Genuine['approved']> {
  const { question, ...decision } = await open(ground);
  await mustAccept(ground, sending(ground, decision));
  const { result } = await ground.status(decision.body.requestId);
  if (result === undefined) throw new Error('the approval service has no approval for what was approved');
  return { question, approval: result.approval };
}

async function mustAccept(ground: Ground, genuine: Post): Promise<string> {
  const { accepted, status, text } = await ground.post(genuine);
  if (!accepted)
    throw new Error(
      `a genuine ${genuine.to} was refused, so refusals prove nothing: ${status} ${text}\n${ground.complaints()}`,
    );
  return text;
}
