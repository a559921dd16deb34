import { createAccessRequestStore } from '../../../../apps/approvals/stores/access-request.store.ts';
import { anApprover, newVote } from '../../../support/access-requests.ts';
import { postSigned } from '../../../support/decisions.ts';
import type { Held, Scene } from './scene.ts';

/** Tries to confirm; answers the statuses, all of which have to be refusals. */
export type Way = (scene: Scene, held: Held) => Promise<readonly number[]>;

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
/** A vote with a token of the issuer for the inbox, which has these claims. */
const withClaims =
  (claims: (scene: Scene) => object, more: object = {}): Way =>
  async (scene, held) => {
    const token = await scene.service.tokenWith({ roles: ['approver'], ...claims(scene) });
    return [await scene.voteWith(token, held, more)];
  };
const said = ({ callDigest }: Held) => ({ reason: 'It cannot wait.', callDigest, generation: 1 });

/** What an agent can try without a browser: with its tokens, with others that its person could give it, and with messages. */
export const BY_PROGRAM: Readonly<Record<string, Way>> = {
  "the host's access token": async (scene, held) => [await scene.voteWith(scene.tokens.access_token, held)],
  "the host's refresh token": async (scene, held) => [await scene.voteWith(scene.tokens.refresh_token, held)],
  "the host's ID token": async (scene, held) => [await scene.voteWith(scene.tokens.id_token, held)],
  'the access token of `countersign stdio`': async (scene, held) => {
    const stdio = await scene.issuer.register('http://127.0.0.1:7777/callback', { client_name: 'countersign stdio' });
    return [await scene.voteWith((await scene.signInHost(stdio)).access_token, held)];
  },
  "the host's refresh token, exchanged for a token for the inbox": async (scene, held) => {
    const { host, tokens, service } = scene;
    const own = await scene.signInHost(host);
    const asked = { resource: service.config.urls.approvals, scope: 'approvals' };
    const { status, body } = await scene.issuer.refresh(host, own.refresh_token, asked);
    return [
      status,
      await scene.voteWith(typeof body['access_token'] === 'string' ? body['access_token'] : tokens.access_token, held),
    ];
  },
  "the host's access token, on the lists and pages of the API": async (scene, { id }) => {
    const token = bearer(scene.tokens.access_token);
    return [await scene.send('/requests?status=yours', token), await scene.send(`/requests/${id}`, token)];
  },
  "the host's access token, for an emergency grant": async (scene, held) => [
    await scene.send(`/requests/${held.id}/break-glass`, bearer(scene.tokens.access_token), said(held)),
  ],
  "the host's access token, for a review": async (scene, { id }) => [
    await scene.send(`/requests/${id}/review`, bearer(scene.tokens.access_token), {}),
  ],
  "the host's access token, to take the request back": async (scene, { id }) => [
    await scene.send(`/requests/${id}/cancel`, bearer(scene.tokens.access_token), {}),
  ],
  "the host's access token, to delegate": async (scene) => [
    await scene.send('/delegations', bearer(scene.tokens.access_token), {
      delegate: 'robot',
      until: '2100-01-01T00:00:00Z',
    }),
  ],
  "the host's access token, at the API of the gateway": async (scene, { id }) => [
    await scene.send(`/access/v1/requests/${id}`, bearer(scene.tokens.access_token)),
    await scene.send('/access/v1/requests', { ...bearer(scene.tokens.access_token), 'idempotency-key': 'x' }, {}),
  ],
  "the host's access token as the session": async (scene, { id, callDigest }) => {
    const cookie = `countersign_approvals=${scene.tokens.access_token}`;
    return [await scene.send(`/requests/${id}/votes`, { cookie }, { verdict: 'approve', callDigest })];
  },
  "the host's access token in the address and in the form": async (scene, { id, callDigest }) => {
    const { access_token: token } = scene.tokens;
    const body = { verdict: 'approve', callDigest, access_token: token };
    return [await scene.send(`/requests/${id}/votes?access_token=${token}`, {}, body)];
  },
  'a token of its person for the inbox': async (scene, held) => [
    await scene.voteWith(await scene.service.token('alice'), held),
  ],
  'a token of its person for the inbox, through another client': withClaims(() => ({ sub: 'alice' })),
  'a token of its person for the inbox, through the host': withClaims(({ host }) => ({
    sub: 'alice',
    client_id: host.id,
  })),
  'a token of its person as the pages of the inbox have it': withClaims(() => ({
    sub: 'alice',
    client_id: 'countersign-web',
  })),
  'a token that says when its person signed in': withClaims(() => ({
    ...{ sub: 'alice', client_id: 'countersign-web', amr: ['pwd'], acr: '1' },
    auth_time: Math.floor(Date.now() / 1_000),
  })),
  'a token of its person with the role of a supervising agent': withClaims(() => ({
    ...{ sub: 'alice', roles: ['approver', 'approver-agent'] },
  })),
  'a token of a supervising agent': async (scene, held) => [
    await scene.voteWith(await scene.service.token('robot'), held),
  ],
  'a token of its person, acted for by the agent': withClaims(({ host }) => ({ sub: 'alice', act: { sub: host.id } })),
  'a token of another person, acted for by its person': withClaims(() => ({ sub: 'bob', act: { sub: 'alice' } })),
  'a token of its own, with the role of approvers': withClaims(({ host }) => ({ sub: host.id, client_id: host.id })),
  'a token of another person, whose client has the name of its person': withClaims(() => ({
    ...{ sub: 'bob', client_id: 'alice' },
  })),
  'a token of another person, with its person as a further client': withClaims(() => ({ sub: 'bob', azp: 'alice' })),
  'a token of its person of another issuer': withClaims(() => ({ sub: 'alice', iss: 'https://other.test' })),
  'a vote by token that claims a session, a channel and the part of the requester': async (scene, held) => {
    const { site } = await scene.enter('alice');
    const session = { id: scene.sidOf(site), signedInAt: Math.floor(Date.now() / 1_000) };
    const more = { session, via: 'inbox', asRequester: true, as_requester: true };
    return [await scene.voteWith(await scene.service.token('alice'), held, more)];
  },
  'a vote by token in the place of its person': withClaims(() => ({ sub: 'bob' }), { onBehalfOf: 'alice' }),
  'an emergency grant by a token of its person': async (scene, held) => [
    await scene.send(`/requests/${held.id}/break-glass`, bearer(await scene.service.token('alice')), said(held)),
  ],
  'a delegation by a token of its person, and a vote of the delegate': async (scene, held) => {
    const { service } = scene;
    const until = new Date(Date.now() + 3_600_000).toISOString();
    await scene.send('/delegations', bearer(await service.token('alice')), { delegate: 'helper', until });
    const token = await service.tokenWith({ sub: 'helper', roles: ['approver'] });
    return [await scene.voteWith(token, held, { onBehalfOf: 'alice' }), await scene.voteWith(token, held)];
  },
  'a signed decision of its person': async (scene, held) => [
    (await scene.service.voteByWebhook('alice', held, 'approve')).status,
  ],
  'a signed decision of its person that names a session': async (scene, { id: requestId, callDigest }) => {
    const { service } = scene;
    const { site } = await scene.enter('alice');
    const session = { id: scene.sidOf(site) };
    const body = { requestId, generation: 1, callDigest, approver: { subject: 'alice' }, verdict: 'approve', session };
    const message = { id: `msg_${crypto.randomUUID()}`, secret: service.secrets.decisionWebhookSecret };
    return [(await postSigned(`${service.url}/webhooks/decisions`, JSON.stringify(body), message)).status];
  },
  'an answer of an automatic resolver with the name of its person': async ({ service }, held) => {
    const store = createAccessRequestStore(service.database.pool);
    const vote = newVote(held, { approver: anApprover('alice', ['approver'], service.config.urls.issuer) });
    const outcome = await store.answerResolver({
      ...vote,
      resolver: 'alice',
      stage: 1,
      verdict: 'approve',
      via: 'automatic',
    });
    return [outcome === 'not_eligible' ? 403 : 200];
  },
};
