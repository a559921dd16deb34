import express, { type Router } from 'express';
import type { Logger } from 'pino';
import { Webhook } from 'standardwebhooks';
import * as z from 'zod';
import { type Approver, VERDICTS } from '../../../workflows/domain/access-request/access-request.ts';
import { APPROVER_ROLE, belongsTo } from '../../../workflows/domain/access-request/eligibility.ts';
import type { Config } from '../../shared/config/config.ts';
import type { DirectorySource } from '../../shared/directory/directory.ts';
import { bodyFaultOf, parseFaithful } from '../../shared/http/faithful-json.ts';
import { Refusal } from '../../shared/http/csrf.ts';
import { asTitle } from '../../shared/http/signing-time.ts';
import { readSignedMessage } from '../../shared/http/webhook-signature.ts';
import { sha256 } from '../../shared/crypto.ts';
import { agentMessage } from '../agent-message.ts';
import { type CastVote, refuseUncounted } from '../cast-vote.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';

/** The only sender of signed decisions. Message ids are unique for it. */
const SOURCE = 'decisions';
const MAX_BODY = '64kb';

/** The signed body contains every fact of the vote; headers and address add nothing. */
const decisionSchema = z.strictObject({
  requestId: z.string().min(1).max(100),
  generation: z.int32().min(1),
  callDigest: z.string().regex(/^sha-256:[0-9a-f]{64}$/),
  approver: z.strictObject({ issuer: z.string().optional(), subject: z.string().min(1).max(1_024) }),
  verdict: z.enum(VERDICTS),
  reason: z.string().max(2_000).optional(),
  agentMessage: agentMessage.optional(),
});

interface DecisionWebhook {
  readonly store: Pick<AccessRequestStore, 'find'>;
  readonly castVote: CastVote;
  readonly findApprover: FindApprover;
  /** Standard Webhooks secret. */
  readonly secret: string;
  readonly log: Logger;
}

/**
 * `POST /webhooks/decisions`: signed decisions that approvers made in another system. Each message counts once, forever. The requester
 * cannot decide here either. Must come before any body parser, because the signature covers the raw bytes.
 */
export function decisionWebhookRouter({ store, castVote, findApprover, secret, log }: DecisionWebhook): Router {
  const webhook = new Webhook(secret);
  const router = express.Router();
  router.post(
    '/webhooks/decisions',
    express.raw({ type: () => true, limit: MAX_BODY, inflate: false }),
    async (request, response) => {
      const message = readSignedMessage(webhook, request.body, request.headers);
      if ('fault' in message) {
        log.warn(`a decision was refused: ${message.fault}`);
        throw new Refusal(401, asTitle(message), message.nextStep);
      }
      const decision = readDecision(message.text);
      const { requestId, approver } = decision;
      const known = findApprover({ issuer: approver.issuer, subject: approver.subject });
      if (known === undefined)
        throw new Refusal(403, 'This approver is not known', 'Name a person with the approver role.');
      const bodyDigest = sha256(message.text);
      const outcome = await castVote({
        ...decision,
        approver: known,
        reason: decision.reason,
        via: 'webhook',
        message: { source: SOURCE, webhookId: message.webhookId, bodyDigest },
      });
      if (outcome === 'conflict')
        log.error({ webhookId: message.webhookId }, 'two messages with different bodies have the same id');
      refuseUncounted(outcome, requestId);
      response.json({ outcome, request: { id: requestId, status: (await store.find(requestId))?.status } });
    },
  );
  return router;
}

function readDecision(text: string): z.infer<typeof decisionSchema> {
  try {
    return decisionSchema.parse(parseFaithful(text));
  } catch (error) {
    const faults =
      error instanceof z.ZodError ? error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) : [];
    const fault = bodyFaultOf(error);
    throw new Refusal(
      400,
      'This is not a decision',
      faults.join('; ') || `Send valid, unambiguous JSON: ${fault?.message}.`,
    );
  }
}

/** The approver for whom a signed message may decide. Undefined for an unknown one: a signature does not make an approver. */
type FindApprover = (named: { issuer: string | undefined; subject: string }) => Approver | undefined;

/**
 * Approvers that the configuration names, directly or by current groups and roles of the directory, all at the configured issuer.
 * There is no sign-in here, so their roles come from the directory, and a named person also has the approver role. Each vote is still
 * checked as usual. The embedded identity provider's example people count in development only: they must not exist in production.
 */
export function configuredApprovers(
  { mode, urls, identity, approvals }: Config,
  directory: DirectorySource,
): FindApprover {
  const examples = () => (mode === 'development' ? identity.people : []);
  const electorate = { ...approvals.webhookApprovers, requesterManager: false };
  return ({ issuer = urls.issuer, subject }) => {
    if (issuer !== urls.issuer) return undefined;
    const people = directory();
    const known = people.find(subject);
    const example = examples().find(({ name }) => name === subject)?.roles ?? [];
    // A named person who is no longer in the directory has left.
    if (people.people.length > 0 && known === undefined && example.length === 0) return undefined;
    const aliases = people.otherNamesOf([subject]);
    const approver = { issuer, subject, aliases, roles: [...example, ...(known?.roles ?? [])] };
    const isNamed = belongsTo(electorate, approver, { asked: { requester: { subject: '' } }, people });
    if (!isNamed && !example.includes(APPROVER_ROLE)) return undefined;
    return { ...approver, roles: [...new Set([APPROVER_ROLE, ...approver.roles])] };
  };
}
