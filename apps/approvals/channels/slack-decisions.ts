import { isUtf8 } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebClient } from '@slack/web-api';
import express, { type Request, type Router } from 'express';
import type { Logger } from 'pino';
import * as z from 'zod';
import { createSealer } from '../../shared/auth/sign-in-attempts.ts';
import type { Clock } from '../../shared/clock.ts';
import { sha256 } from '../../shared/crypto.ts';
import type { Config } from '../../shared/config/config.ts';
import type { DirectorySource } from '../../shared/directory/directory.ts';
import { mailAddressOf } from '../../shared/directory/mail-address.ts';
import { Refusal } from '../../shared/http/csrf.ts';
import { bodyFaultOf, parseFaithful } from '../../shared/http/faithful-json.ts';
import { asTitle, clockFault, type Unsigned } from '../../shared/http/signing-time.ts';
import { type CastVote, refuseUncounted } from '../cast-vote.ts';
import type { AccessRequestStore } from '../stores/access-request.store.ts';
import type { Recipients } from './recipients.ts';
import { notifyOf } from './schedule.ts';
import { shownCall } from './shown-call.ts';
import { ACTIONS, type SealBallot } from './slack.ts';

/** Source of the signed messages, whose ids are unique for it. */
const SOURCE = 'slack';
const MAX_BODY = '64kb';
const NOT_VALID: Unsigned = {
  fault: 'the signature is not valid',
  nextStep: 'Set the signing secret of the Slack app in the configuration.',
};

const sealedSchema = z.object({
  requestId: z.string(),
  callDigest: z.string(),
  generation: z.number(),
  stage: z.number(),
  person: z.string(),
  verdict: z.enum(['approve', 'deny']),
});

/**
 * Opens and seals the values of buttons. An approval is sealed only for a message that shows all of the call, so no press of another message
 * is one. The purpose says so: a button of a message that was made without this rule does not open.
 */
export function ballotSealer(sessionSecret: string, clock: Pick<Clock, 'now'>) {
  const purpose = 'slack decision about a call that the message shows whole';
  const sealer = createSealer({ secret: sessionSecret, purpose }, sealedSchema);
  const seal: SealBallot = async ({ until, mayApprove, ...ballot }, person, verdict) => {
    if (verdict === 'approve' && !mayApprove) throw new Error('a message that leaves something out has no approval');
    const seconds = Math.max(1, Math.ceil((Date.parse(until) - clock.now()) / 1_000));
    return sealer.seal({ ...ballot, person, verdict }, seconds);
  };
  return { seal, open: (value: string) => sealer.open(value) };
}

export type OpenBallot = ReturnType<typeof ballotSealer>['open'];

const interactionSchema = z.object({
  type: z.literal('block_actions'),
  user: z.object({ id: z.string() }),
  container: z.object({ channel_id: z.string() }),
  actions: z.array(z.object({ action_id: z.string(), value: z.string().optional() })).min(1),
});

interface SlackDecisions {
  readonly client: WebClient;
  readonly signingSecret: string;
  readonly open: OpenBallot;
  readonly people: DirectorySource;
  readonly recipients: Pick<Recipients, 'approverOf'>;
  readonly castVote: CastVote;
  readonly store: Pick<AccessRequestStore, 'find'>;
  readonly config: Pick<Config, 'approvals'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * `POST /channels/slack/interactions`: buttons that people pressed in Slack. The request must be signed by Slack, the button must be one
 * that we sealed, and the account that pressed it must be that of the person for whom we sealed it. An approval must also rest on a message
 * that shows all of the call, by the settings of now. The vote then goes the way of every other vote. Must come before any body parser, because the signature covers the raw bytes.
 */
export function slackDecisionsRouter(options: SlackDecisions): Router {
  const { client, clock, log } = options;
  const router = express.Router();
  const raw = express.raw({ type: () => true, limit: MAX_BODY, inflate: false });
  router.post('/channels/slack/interactions', raw, async (request, response) => {
    const signed = readSigned(request, options.signingSecret, clock);
    if ('fault' in signed) {
      log.warn(`a request to the address for Slack was refused: ${signed.fault}`);
      throw new Refusal(401, asTitle(signed), signed.nextStep);
    }
    const payload = interactionSchema.safeParse(payloadIn(signed.text));
    const [action] = payload.data?.actions ?? [];
    // Other interactions, such as a link that was opened, mean nothing here.
    if (payload.data === undefined || action === undefined || !isDecision(action.action_id)) return void response.end();
    const { user, container } = payload.data;
    const answer = await decide(action.value ?? '', user.id, { ...options, signed }).catch((error: unknown) => {
      if (error instanceof Refusal) return `${error.message}. ${error.nextStep}`;
      log.error({ err: error }, 'a decision in Slack was not carried out');
      return 'The decision could not be carried out. Open the request, and decide there.';
    });
    // Only now, because Slack does not repeat a request that a crash lost.
    response.end();
    if (answer === undefined) return;
    await client.chat
      .postEphemeral({ channel: container.channel_id, user: user.id, text: answer, parse: 'none' })
      .catch(() => log.warn('a person was not told in Slack why their decision was refused'));
  });
  return router;
}

/** The JSON in the form that Slack sends. Throws a `Refusal` for one that could be read in two ways. */
function payloadIn(form: string): unknown {
  try {
    return parseFaithful(new URLSearchParams(form).get('payload') ?? '');
  } catch (error) {
    const why = bodyFaultOf(error)?.message ?? 'it is not valid';
    throw new Refusal(400, 'This is no interaction of Slack', `Send valid, unambiguous JSON: ${why}.`);
  }
}

const isDecision = (id: string) => id === ACTIONS.approve || id === ACTIONS.deny;

/** Returns nothing if the vote counts: the message then says so. Throws a `Refusal` otherwise. */
async function decide(
  value: string,
  slackId: string,
  { open, castVote, recipients, signed, log, ...who }: SlackDecisions & { signed: { text: string; id: string } },
): Promise<undefined> {
  const sealed = await open(value);
  if (sealed === undefined)
    throw new Refusal(400, 'This button is no longer valid', 'Open the request, and decide there.');
  const { person, ...ballot } = sealed;
  const pressedBy = await personIn(slackId, who);
  if (pressedBy !== person) {
    log.warn(
      { accessRequest: ballot.requestId },
      'a button in Slack was pressed by another account than that of its person',
    );
    throw new Refusal(403, 'This message is for another person', 'Open the request, and decide there as yourself.');
  }
  await refuseUnseen(ballot, who);
  const outcome = await castVote({
    ...ballot,
    approver: recipients.approverOf(person),
    reason: undefined,
    via: 'slack',
    message: { source: SOURCE, webhookId: signed.id, bodyDigest: sha256(signed.text) },
  });
  refuseUncounted(outcome, ballot.requestId);
}

/** Throws a `Refusal` for an approval by a message that would leave something out now. */
async function refuseUnseen(
  { requestId, verdict }: { requestId: string; verdict: 'approve' | 'deny' },
  { store, config }: Pick<SlackDecisions, 'store' | 'config'>,
): Promise<void> {
  const request = verdict === 'approve' ? await store.find(requestId) : undefined;
  // Without the request, the vote says so.
  if (request === undefined || shownCall(request, notifyOf(config, request.template).arguments).isWhole) return;
  throw new Refusal(403, 'The message does not show all of the call', 'Open the request, and decide there.');
}

/**
 * The active person of the directory to whom an account in Slack belongs: by the id that the directory has, else by a confirmed address
 * that exactly one person has, in our own workspace. Undefined for every other account.
 */
async function personIn(slackId: string, { client, people }: Pick<SlackDecisions, 'client' | 'people'>) {
  const active = people().people.filter(({ isActive }) => isActive);
  const named = active.filter((one) => one.slackId === slackId);
  if (named.length > 0) return named.length === 1 ? named[0]?.subject : undefined;
  const [{ user }, { team_id: ownTeam }] = await Promise.all([
    client.users.info({ user: slackId }),
    client.auth.test(),
  ]);
  const email = mailAddressOf(user?.profile?.email)?.toLowerCase();
  if (user === undefined || email === undefined || user.deleted || user.is_bot) return undefined;
  if (user.is_email_confirmed !== true || user.team_id !== ownTeam) return undefined;
  const owners = active.filter((one) => one.slackId === undefined && one.email?.toLowerCase() === email);
  return owners.length === 1 ? owners[0]?.subject : undefined;
}

/** The raw body, if Slack signed it within five minutes of now; else the reason. @see Slack, Verifying requests from Slack */
function readSigned(request: Request, secret: string, clock: Clock): { text: string; id: string } | Unsigned {
  const [signature, timestamp] = [request.get('X-Slack-Signature'), request.get('X-Slack-Request-Timestamp')];
  const body: unknown = request.body;
  if (signature === undefined || timestamp === undefined || !Buffer.isBuffer(body)) return NOT_VALID;
  if (!/^[0-9]{1,12}$/.test(timestamp) || !/^v0=[0-9a-f]{64}$/.test(signature)) return NOT_VALID;
  const expected = createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest();
  if (!timingSafeEqual(expected, Buffer.from(signature.slice(3), 'hex')) || !isUtf8(body)) return NOT_VALID;
  const late = clockFault(Number(timestamp), clock.now());
  if (late !== undefined) return late;
  return { text: body.toString('utf8'), id: `${timestamp}_${signature.slice(3)}` };
}
