import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import webPush from 'web-push';
import { signedHeaders } from '../../../apps/shared/http/webhook-signature.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { MAX_MEMBERS } from '../../../workflows/domain/faithful-json.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { GatewayUnderTest } from '../../support/gateway.ts';
import { CALLBACK_SECRET } from '../../support/gateway-world.ts';
import { FAULTS } from '../../support/json-faults.ts';
import { aTransfer, startTestPdp, post } from '../../support/pdp.ts';
import { cases } from '../../support/regime.ts';

/** The answer of an entry, and whether it found fault with the text of the body. */
interface Answer {
  readonly status: number;
  readonly text: string;
}
type Knock = (text: string) => Promise<Answer>;
const answerOf = async (response: Response): Promise<Answer> => ({
  status: response.status,
  text: await response.text(),
});

const push = { subject: 'mailto:approvals@example.com', privateKey: webPush.generateVAPIDKeys().privateKey };
const service = new ApprovalsUnderTest();
const gateway = new GatewayUnderTest();
let pdp!: Awaited<ReturnType<typeof startTestPdp>>;
let request!: Awaited<ReturnType<ApprovalsUnderTest['open']>>;
beforeAll(async () => {
  await service.start({
    approvals: {
      webhookApprovers: ['carol'],
      breakGlass: { enabled: true, approvers: { people: ['bob'] } },
      channels: { mailbox: false, push },
    },
  });
  await gateway.start();
  pdp = await startTestPdp({ maxBodyBytes: 4_000_000 });
  request = await service.open();
});
afterAll(async () => {
  await pdp.stop();
  await gateway.stop();
  await service.stop();
});

const asClient: (path: string, method?: string) => Knock =
  (path, method = 'POST') =>
  async (text) => {
    const authorization = `Bearer ${service.secrets.accessRequestToken}`;
    const headers = { authorization, 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() };
    return answerOf(await fetch(new URL(path, service.url), { method, headers, body: text }));
  };
const asApprover: (path: () => string) => Knock = (path) => async (text) => {
  const authorization = `Bearer ${await service.token('bob')}`;
  const headers = { authorization, 'content-type': 'application/json' };
  return answerOf(await fetch(new URL(path(), service.url), { method: 'POST', headers, body: text }));
};
const signed: (url: () => string, secret: () => string) => Knock = (url, secret) => async (text) => {
  const message = { id: `msg_${crypto.randomUUID()}`, body: text, at: new Date() };
  const headers = signedHeaders(new Webhook(secret()), message);
  return answerOf(await fetch(url(), { method: 'POST', headers, body: text }));
};
const toPdp =
  (path: string): Knock =>
  (text) =>
    post(pdp.origin, text, { path });
const toGateway: Knock = async (text) => {
  const headers = {
    authorization: 'Bearer token-of-alice',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  return answerOf(await fetch(gateway.mcpUrl, { method: 'POST', headers, body: text }));
};

const submission = async (): Promise<string> => JSON.stringify(await service.submission());
const ballot = (): string => JSON.stringify({ verdict: 'approve', callDigest: request.callDigest });
const call = () =>
  JSON.stringify({
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
    params: { name: 'bank__transfer', arguments: { to: 'a', amount: 1 } },
  });

/** An entry for JSON, with the place in the source that opens it and an accepted body. */
interface Door {
  readonly name: string;
  readonly opened: string;
  readonly knock: Knock;
  readonly good: () => string | Promise<string>;
  /** Members and elements that the entry accepts. */
  readonly most?: number;
}
const DOORS: readonly Door[] = [
  { name: 'gateway: MCP', opened: 'gateway/mcp/http.ts app.all(MCP_PATH', knock: toGateway, good: call },
  {
    name: 'gateway: callbacks',
    opened: 'gateway/mcp/http.ts app.post(CALLBACK_PATH',
    knock: signed(
      () => `${gateway.url}/callbacks/access-requests`,
      () => CALLBACK_SECRET,
    ),
    good: () => '{"task":{"id":"a"}}',
  },
  {
    name: 'gateway: previews',
    opened: 'gateway/mcp/http.ts app.post(PREVIEWS_PATH',
    knock: signed(
      () => `${gateway.url}/callbacks/previews`,
      () => CALLBACK_SECRET,
    ),
    good: () => '{"task":{"id":"a"}}',
  },
  ...['evaluation', 'evaluations', 'search/subject', 'search/resource', 'search/action'].map((path) => ({
    name: `pdp: ${path}`,
    opened: 'pdp/http/app.ts api.post(path',
    knock: toPdp(`/access/v1/${path}`),
    good: () => JSON.stringify(aTransfer()),
    most: MAX_MEMBERS.service,
  })),
  {
    name: 'approvals: submissions',
    opened: 'approvals/access-requests/router.ts router.post(api.base',
    knock: asClient('/access/v1/requests'),
    good: submission,
    most: MAX_MEMBERS.service,
  },
  ...(['POST', 'DELETE'] as const).map((method) => ({
    name: `approvals: cancellations by ${method}`,
    opened: `approvals/access-requests/router.ts router.${method.toLowerCase()}(api.cancel`,
    knock: asClient('/access/v1/requests/unknown/cancel', method),
    good: () => '{"reason":"over"}',
  })),
  {
    name: 'approvals: decisions',
    opened: 'approvals/webhooks/decision-webhook.ts router.post("/webhooks/decisions"',
    knock: signed(
      () => `${service.url}/webhooks/decisions`,
      () => service.secrets.decisionWebhookSecret,
    ),
    good: () =>
      JSON.stringify({
        ...{ requestId: request.id, generation: 1, callDigest: request.callDigest },
        ...{ approver: { subject: 'carol' }, verdict: 'approve' },
      }),
  },
  ...Object.entries<() => string>({
    votes: ballot,
    grants: () => JSON.stringify({ minutes: 5, uses: 2, callDigest: request.callDigest, generation: 1 }),
    extensions: () => '{"minutes":5,"stage":1,"number":1}',
    'hand-overs': () => '{"to":"alice","stage":1,"number":1}',
    questions: () => '{"question":"why?","stage":1,"number":1}',
    answers: () => '{"number":1,"answer":"so"}',
    preview: () => '{}',
  }).map(([what, good]) => ({
    name: `approvals: ${what}`,
    opened: `approvals/inbox/router.tsx router.post("/requests/:id/${what}"`,
    knock: asApprover(() => `/requests/${request.id}/${what}`),
    good,
  })),
  ...(['break-glass', 'review'] as const).map((what) => ({
    name: `approvals: ${what}`,
    opened: `approvals/inbox/router.tsx router.post("/requests/:id/${what}"`,
    knock: asApprover(() => `/requests/${request.id}/${what}`),
    good: () => JSON.stringify({ reason: 'fire', callDigest: request.callDigest, note: 'seen' }),
  })),
  ...(['cancel', 'revoke'] as const).map((what) => ({
    name: `approvals: ${what}`,
    opened: 'approvals/inbox/router.tsx router.post(`/requests/:id/${what}`',
    knock: asApprover(() => `/requests/${request.id}/${what}`),
    good: () => '{"reason":"over"}',
  })),
  ...['/', '/:id/rename', '/:id/revoke'].map((path) => ({
    name: `approvals: passkeys, ${path}`,
    opened: `approvals/inbox/passkeys.tsx router.post("${path}"`,
    knock: asApprover(() => `/passkeys${path.replace(':id', 'AAAA')}`),
    good: () => '{"name":"Laptop","passkey":"{}"}',
  })),
  ...['/', '/revoke'].map((path) => ({
    name: `approvals: browsers that get notices, ${path}`,
    opened: `approvals/inbox/push.ts router.post("${path}"`,
    knock: asApprover(() => `/push-subscriptions${path}`),
    good: () => '{"endpoint":"https://push.example/1","keys":{},"serverKey":""}',
  })),
  {
    name: 'approvals: several votes',
    opened: 'approvals/inbox/router.tsx router.post("/requests/batch"',
    knock: asApprover(() => '/requests/batch'),
    good: () => JSON.stringify({ verdict: 'deny', item: [`${request.id} 9 1 ${request.callDigest}`] }),
  },
  {
    name: 'approvals: the end of a grant',
    opened: 'approvals/inbox/grants.tsx router.post("/:id/revoke"',
    knock: asApprover(() => '/grants/grn_none/revoke'),
    good: () => '{}',
  },
  {
    name: 'approvals: delegations',
    opened: 'approvals/inbox/delegations.tsx router.post("/"',
    knock: asApprover(() => '/delegations'),
    good: () => '{"delegate":"alice","until":"2126-01-01"}',
  },
  {
    name: 'approvals: the end of a delegation',
    opened: 'approvals/inbox/delegations.tsx router.post("/:id/revoke"',
    knock: asApprover(() => `/delegations/${crypto.randomUUID()}/revoke`),
    good: () => '{}',
  },
];

/** Routes in the sources that are no entries for JSON. */
const OTHERS = [
  // A form, with JSON in a field. test/apps/approvals/slack.test.ts knocks there.
  'approvals/channels/slack-decisions.ts router.post("/channels/slack/interactions"',
  'approvals/access-requests/router.ts router.all([api.base, api.one, api.cancel, api.resolution]',
  // Only says to use another method.
  'approvals/access-requests/router.ts router.get(CATALOGS_PATH, mayDo("submit"), http.catalog).all(CATALOGS_PATH',
];

const APPS = packagePath('apps');
const sources = readdirSync(APPS, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /^(gateway|pdp|approvals|audit|shared)\/.*\.tsx?$/.test(file) && !file.startsWith('shared/embedded'),
);
const textOf = (file: string) => readFileSync(join(APPS, file), 'utf8').replace(/'/g, '"');

describe('the sources', () => {
  it('open no other entry for JSON', () => {
    // Browsers send forms to sign in and out.
    const found = sources.flatMap((file) => {
      if (file.startsWith('shared/auth/')) return [];
      const text = textOf(file).replace(/\(\s+/g, '(');
      const routes = text.matchAll(/\b(?:router|api|app)\.(?:post|put|patch|delete|all)\((?:\[[^\]]*\]|[^,\s)]+)/g);
      return [...routes].map(([route]) => `${file} ${route}`);
    });
    const known = [...DOORS.map(({ opened }) => opened), ...OTHERS];
    const sorted = (list: readonly string[]) => [...new Set(list)].sort();
    expect(sorted(found.filter((one) => !known.includes(one)))).toEqual([]);
    expect(sorted(DOORS.map(({ opened }) => opened)).filter((one) => !found.includes(one))).toEqual([]);
  });

  it('check every body before they parse it', () => {
    const parsers = sources.flatMap((file) =>
      [...textOf(file).matchAll(/express\.json\([^)]*\)/g)].map(([parser]) => ({ file, parser })),
    );
    expect(parsers.length).toBeGreaterThan(3);
    expect(parsers.filter(({ parser }) => !/verify: refuseUnfaithful/.test(parser))).toEqual([]);
  });
});

const faulty = async ({ knock, good, most = MAX_MEMBERS.message }: Door, fault: string) =>
  knock(FAULTS[fault]?.(await good(), most) ?? '');

/** All in a thorough run. Otherwise one in a few, and others at the next entry. */
const someFor = <T>(door: Door, all: readonly T[], oneIn: number) => {
  const few = all.filter((_, index) => (index + DOORS.indexOf(door)) % oneIn === 0);
  return cases(few, all);
};

describe.each(DOORS)('$name', (door) => {
  it.each(someFor(door, Object.keys(FAULTS), 5))('refuses a body that has %s', async (fault) => {
    const { status, text } = await faulty(door, fault);
    // The gateway may answer an error with 200, as JSON-RPC allows.
    if (status === 200) expect(JSON.parse(text)).toMatchObject({ error: { code: expect.any(Number) } });
    else expect([400, ...(/many|thousand/.test(fault) ? [413] : [])]).toContain(status);
  });
});

it('no vote, grant, cancellation or delegation was recorded, and no call was forwarded', async () => {
  const votes = await service.database.pool.query('SELECT 1 FROM approvals.vote');
  const delegations = await service.database.pool.query('SELECT 1 FROM approvals.delegation');
  const requests = await service.database.pool.query('SELECT status FROM approvals.access_request');
  expect([votes.rowCount, delegations.rowCount, requests.rows]).toEqual([0, 0, [{ status: 'pending' }]]);
  expect([gateway.world.invocations, gateway.world.callbacks]).toEqual([[], []]);
});

describe('a valid body', () => {
  it.each(DOORS)('is read by $name', async ({ knock, good }) => {
    const { text } = await knock(await good());
    expect(text).not.toMatch(/body (is|has|gives|begins|cannot)|well-formed/i);
  });
});

describe('a refusal names the fault and the limit', () => {
  const LIMITS = [
    ['too many levels', /200 levels/],
    ['too many elements', /10000.*50000|10,000.*50,000/],
    ['a member twice', /member twice/],
    ['half a character', /half a character/],
  ] as const;
  it.each(DOORS)('$name', async (door) => {
    for (const [fault, words] of someFor(door, LIMITS, LIMITS.length)) {
      const { status, text } = await faulty(door, fault);
      if (status !== 413) expect(text).toMatch(words);
    }
  });
});
