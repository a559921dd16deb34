import type { Page } from 'playwright-core';
import type { ApprovalsUnderTest } from '../support/approvals.ts';
import { isReady } from '../support/press.ts';
import { grantableSubmission } from '../support/grants.ts';
import { ofPerson, type SubmissionChanges } from '../support/submissions.ts';
import type { Situation } from '../support/situations.ts';
import { questionSituations, sharedSituations } from './shared-situations.ts';
import { figuresSituations } from './figures-situations.ts';
import { grantsSituations } from './grants-situations.ts';
import { batchSituations } from './batch-situations.ts';
import { requestsOfOneKind, stated } from './of-one-kind.ts';
import { previewSituations } from './preview-situations.ts';
import { mailboxSituations, withMailbox } from './messages.ts';
import { signOut, signOutHere } from './signing-out.ts';
import { aPasskey, manyDelegations, manyGranted, signedInAt } from './many-rows.ts';

const DAY_MS = 86_400_000;
const stage = (name: string, people: string[], more: object = {}) => ({ name, approvers: { people }, ...more });
const templates = {
  alice: { stages: [stage('alice', ['alice'])] },
  either: { stages: [stage('either', ['alice', 'bob'])] },
  both: { stages: [stage('both', ['alice', 'bob'], { quorum: 2 })] },
  prepared: { stages: [stage('prepared', ['alice'])], presetReasons: ['Change window', 'No ticket'] },
  own: { stages: [{ name: 'own', approvers: { requester: true } }] },
  timed: { stages: [stage('timed', ['alice'], { withinSeconds: 600 })], maxExtensionSeconds: 1_200 },
  in_turn: { stages: [stage('first', ['alice', 'bob']), stage('second', ['alice', 'carol'])] },
};

const MAPPED = {
  ...{ tool: 'bank__wire_transfer', arguments: { amount: 50_000 } },
  mapped: { action: { name: 'wire_transfer' }, resource: { type: 'account', id: 'acct-991' } },
  context: { tool: 'bank__wire_transfer', amount: 50_000 },
  members: ['agent', 'amount', 'arguments', 'call_digest', 'tool'],
};

const PICTURE = Buffer.from(`89504e470d0a1a0a${'07'.repeat(90)}`, 'hex').toString('base64');
/** Arguments with a link of each kind, and with bytes whose text is folded. */
const ALARMING = { note: 'a\u200bb\u200b c\u200b', password: 'hunter2', picture: PICTURE };

/** A configuration in which every situation can occur. */
export const settings = {
  approvals: {
    ...withMailbox(templates),
    breakGlass: { enabled: true, approvers: { people: ['sam'] } },
    requestTtlSeconds: 3_600,
  },
  identity: {
    people: [
      ...['alice', 'bob', 'carol', 'dora', 'rita', 'sam', 'lone'].map((name) => ({ name, roles: ['approver'] })),
      { name: 'olga', roles: ['approver', 'approver-overseer', 'auditor'] },
      { name: 'olivia', roles: ['auditor'] },
    ],
  },
};

/** Every page of the inbox in every state, for each person who may see it. */
export function approvalsSituations(service: ApprovalsUnderTest): Situation[] {
  const open = (template: keyof typeof templates, changes: SubmissionChanges = {}) =>
    service.open({ ...changes, claims: { template } });
  const post = async (name: string, path: string, body: object = {}) => {
    const answer = await service.asPerson(name, path, { method: 'POST', body: JSON.stringify(body) });
    if (answer.status >= 300) throw new Error(`${path} was answered ${answer.status}`);
  };
  const at = ({ id }: { id: string }) => `/requests/${id}`;
  const opened =
    (template: keyof typeof templates, changes: SubmissionChanges = {}) =>
    async () =>
      at(await open(template, changes));
  const voted = async (template: keyof typeof templates, votes: Record<string, 'approve' | 'deny'>) => {
    const request = await open(template);
    for (const [name, verdict] of Object.entries(votes))
      await service.vote(name, request, verdict, { reason: 'so be it' });
    return request;
  };
  const revoked = async () => {
    const path = at(await voted('alice', { alice: 'approve' }));
    await post('alice', `${path}/revoke`, { reason: 'not any more' });
    return path;
  };
  const ofRita = () => open('alice', ofPerson(service.config.urls.issuer, { person: 'rita', agent: 'a-host' }));
  const cancelled = async () => {
    const path = at(await ofRita());
    return (await post('rita', `${path}/cancel`, { reason: 'not any more' }), path);
  };
  const ended = (change: string) => async () => {
    const { id } = await open('alice');
    await service.database.pool.query(`ALTER TABLE approvals.access_request DISABLE TRIGGER USER;
      UPDATE approvals.access_request SET ${change} WHERE id = '${id}'; ALTER TABLE approvals.access_request ENABLE TRIGGER USER`);
    return at({ id });
  };
  const granted = (reviewedBy?: string) => async () => {
    const request = await open('alice');
    await post('sam', `${at(request)}/break-glass`, { reason: 'the disk is full', callDigest: request.callDigest });
    if (reviewedBy !== undefined) await post(reviewedBy, `${at(request)}/review`, { note: 'it was' });
    return at(request);
  };
  const until = new Date(Date.now() + DAY_MS).toISOString();
  const delegated = (from: string, to: string) => post(from, '/delegations', { delegate: to, until });
  const pageTwo = async (name: string, path: string, cursor = 'Cursor') => {
    const parameter = `${cursor.charAt(0).toLowerCase()}${cursor.slice(1)}`;
    const { body } = await service.asPerson(name, path);
    const joint = path.includes('?') ? '&' : '?';
    return `${path}${joint}${parameter}=${String(body[`next${cursor}`])}`;
  };
  const { alike, ofOneKind } = requestsOfOneKind(service, (changes) => open('alice', changes));
  const decided = { alice: 'approve' } as const;
  let agents = 0;
  const ownAgents = () => opened('own', ofPerson(service.config.urls.issuer, { person: 'alice', agent: 'a-host' }))();
  /** Another approver decides first. */
  const late = (template: 'either' | 'in_turn'): Pick<Situation, 'prepare' | 'arrive' | 'status'> => {
    let request: Awaited<ReturnType<typeof open>>;
    return {
      status: 409,
      prepare: async () => at((request = await open(template))),
      arrive: async (page: Page) => {
        await page.getByLabel('Reason', { exact: true }).fill('looked at it for long');
        await service.vote('bob', request, template === 'either' ? 'deny' : 'approve');
        // The page has followed the other vote by now or not: the form with the typed text stays either way.
        await isReady(page.getByRole('button', { name: 'Approve' }), page.locator('form[data-decides]'));
        await page.getByRole('button', { name: 'Approve' }).click();
        await page.getByRole('alert').waitFor();
      },
    };
  };
  return [
    { name: 'without a sign-in', prepare: async () => '/requests', refusals: [403] },
    { name: 'signed out here alone', as: 'alice', prepare: async () => '/delegations', arrive: signOutHere },
    { name: 'signed out', as: 'alice', prepare: async () => '/delegations', arrive: signOut },
    { name: 'no approver', as: 'olivia', prepare: async () => '/requests', status: 403 },
    { name: 'no such request', as: 'alice', prepare: async () => '/requests/arq_none', status: 404 },
    { name: 'for others to read', as: 'lone', prepare: opened('alice'), status: 404 },
    { name: 'no such page', as: 'alice', prepare: async () => '/nowhere', status: 404 },
    { name: 'no such status', as: 'alice', prepare: async () => '/requests?status=odd', status: 400 },
    { name: 'an empty list', as: 'lone', prepare: async () => '/requests?status=yours' },
    {
      name: 'the list of what is yours',
      as: 'alice',
      prepare: async () => (await open('alice'), '/requests?status=yours'),
    },
    { name: 'the list of what is open', as: 'olga', prepare: async () => (await open('alice'), '/requests') },
    {
      name: 'the list of what has ended',
      as: 'alice',
      prepare: async () => (await voted('alice', decided), '/requests?status=ended'),
    },
    {
      name: 'a page in the middle of a list',
      as: 'alice',
      prepare: async () => (
        await open('alice'),
        await open('alice'),
        await open('alice'),
        pageTwo('alice', '/requests?limit=1')
      ),
    },
    {
      name: 'a page in the middle of the emergency grants',
      as: 'lone',
      prepare: async () => (await manyGranted(service, 41), pageTwo('lone', '/requests', 'UnreviewedCursor')),
    },
    {
      name: 'a list to filter',
      as: 'olga',
      prepare: async () => {
        for (const [tool, effect, agent] of [
          ['db__drop', 'delete', 'one'],
          ['db__read', 'read', 'two'],
        ] as const)
          await open('alice', { ...stated(tool, effect), agent, subject: `${agent}-person` });
        // From ten on, the list leads to the requests of each agent.
        for (let n = 2; n <= 10; n += 1) await open('alice', { ...stated('db__drop', 'delete'), agent: 'one' });
        return '/requests';
      },
    },
    { name: 'a list in which nothing is found', as: 'alice', prepare: async () => '/requests?q=nowhere-to-be-found' },
    ...batchSituations({ open, alike, ofOneKind, decided: () => voted('alice', decided) }),
    { name: 'a request to decide', as: 'alice', prepare: opened('alice') },
    {
      name: 'a request with a grant to give',
      as: 'alice',
      prepare: async () => {
        // A grant that was given before would approve another request of its agent.
        agents += 1;
        return at(await service.open(grantableSubmission({ agent: `coder-${agents}`, claims: { template: 'alice' } })));
      },
    },
    ...sharedSituations(() => open('timed'), post),
    ...questionSituations(ofRita, post),
    { name: 'a request of their own agent', as: 'alice', prepare: ownAgents },
    {
      name: 'a request of their own agent, long after the sign-in',
      as: 'alice',
      prepare: ownAgents,
      arrive: async (page: Page) => {
        await signedInAt(service, 1);
        await page.reload();
        // The people of the situations after this one have signed in a moment ago.
        await signedInAt(service, Math.floor(Date.now() / 1_000));
      },
    },
    { name: 'a request with prepared reasons', as: 'alice', prepare: opened('prepared') },
    {
      name: 'a request with much to read',
      as: 'alice',
      prepare: opened('alice', { arguments: { text: 'line\n'.repeat(2_000) } }),
    },
    { name: 'a request with warnings', as: 'alice', prepare: opened('alice', { arguments: ALARMING }) },
    { name: 'a request in words of its own', as: 'alice', prepare: opened('alice', MAPPED) },
    { name: 'a request that one has decided', as: 'alice', prepare: async () => at(await voted('both', decided)) },
    {
      name: 'a request that another has decided for one',
      as: 'alice',
      prepare: async () => {
        await delegated('alice', 'dora');
        const request = await open('both');
        await service.vote('dora', request, 'approve', { onBehalfOf: 'alice' });
        return at(request);
      },
    },
    {
      name: 'the second stage, to decide',
      as: 'carol',
      prepare: async () => at(await voted('in_turn', { bob: 'approve' })),
    },
    { name: 'the first stage, for an approver of the second', as: 'carol', prepare: opened('in_turn') },
    { name: 'one\u2019s own request', as: 'rita', prepare: opened('alice', { subject: 'rita' }) },
    {
      name: 'a request of a person that the viewer stands in for',
      as: 'bob',
      prepare: async () => (await delegated('rita', 'bob'), at(await open('either', { subject: 'rita' }))),
    },
    { name: 'a request to oversee', as: 'olga', prepare: opened('alice') },
    {
      name: 'a request to decide for another',
      as: 'dora',
      prepare: async () => (await delegated('alice', 'dora'), at(await open('alice'))),
    },
    {
      name: 'a request to decide for oneself or another',
      as: 'bob',
      prepare: async () => (await delegated('alice', 'bob'), at(await open('either'))),
    },
    { name: 'a request to grant in an emergency', as: 'sam', prepare: opened('alice') },
    { name: 'an emergency grant to review', as: 'lone', prepare: granted() },
    { name: 'an emergency grant of one\u2019s own', as: 'sam', prepare: granted() },
    { name: 'an emergency grant that was reviewed', as: 'alice', prepare: granted('bob') },
    { name: 'an approved request', as: 'alice', prepare: async () => at(await voted('alice', decided)) },
    {
      name: 'an approved request, for an auditor',
      as: 'olga',
      prepare: async () => at(await voted('alice', decided)),
    },
    { name: 'a denied request', as: 'bob', prepare: async () => at(await voted('either', { alice: 'deny' })) },
    { name: 'a cancelled request', as: 'alice', prepare: cancelled },
    { name: 'a revoked approval', as: 'alice', prepare: revoked },
    { name: 'an expired request', as: 'alice', prepare: ended('expires_at = clock_timestamp()') },
    { name: 'a failed request', as: 'alice', prepare: ended("status = 'failed', ended_at = clock_timestamp()") },
    { name: 'a vote that came too late', as: 'alice', ...late('either') },
    { name: 'a vote in a stage that is over', as: 'alice', ...late('in_turn') },
    ...grantsSituations(service, pageTwo),
    ...previewSituations(service),
    { name: 'no delegations', as: 'lone', prepare: async () => '/delegations' },
    {
      name: 'delegations',
      as: 'carol',
      prepare: async () => (await delegated('carol', 'dora'), await delegated('dora', 'carol'), '/delegations'),
    },
    ...figuresSituations(service),
    ...mailboxSituations(service),
    { name: 'no passkeys', as: 'lone', prepare: async () => '/passkeys' },
    { name: 'passkeys', as: 'alice', prepare: async () => (await aPasskey(service, 'alice'), '/passkeys') },
    {
      name: 'passkeys of another',
      as: 'olga',
      prepare: async () => (await aPasskey(service, 'bob'), '/passkeys?of=bob'),
    },
    ...(['Made', 'Received', 'Over'] as const).map((list) => ({
      name: `a page in the middle of a list of delegations: ${list}`,
      as: 'rita',
      prepare: async () => (await manyDelegations(service), pageTwo('rita', '/delegations', `${list}Cursor`)),
    })),
  ];
}
