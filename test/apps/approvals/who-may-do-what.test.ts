import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Browser } from '../../support/browser.ts';
import { grantableSubmission } from '../../support/grants.ts';
import { csrfTokenIn } from '../../support/pages.ts';
import { ofPerson } from '../../support/submissions.ts';

/** Everyone who can open the inbox, and what a request is to them. */
const VIEWERS = {
  rita: 'the requester',
  alice: 'an approver of the first stage',
  ann: 'an approver who has voted',
  stan: 'a stand-in of an approver of the first stage',
  later: 'an approver of the second stage',
  olga: 'an overseer',
  glass: 'a person who may grant alone',
  zed: 'a stranger',
} as const;
type Viewer = keyof typeof VIEWERS;

const ACTIONS = [
  'votes',
  'extensions',
  'hand-overs',
  'questions',
  'answers',
  'grants',
  'break-glass',
  'review',
  'cancel',
  'revoke',
] as const;
type Action = (typeof ACTIONS)[number];

/** What the page offers, and what is accepted. A person who is not listed is offered nothing. */
const ALLOWED: Readonly<Record<string, Partial<Record<Viewer, readonly Action[]>>>> = {
  'an open request, after one vote of two': {
    rita: ['cancel'],
    alice: ['votes', 'extensions', 'hand-overs', 'questions'],
    ann: ['extensions'],
    stan: ['votes', 'questions'],
    glass: ['break-glass'],
  },
  'an open request with a question to its requester': {
    rita: ['answers', 'cancel'],
    alice: ['votes', 'extensions', 'hand-overs', 'questions'],
    ann: ['extensions'],
    stan: ['votes', 'questions'],
    glass: ['break-glass'],
  },
  'an open request in its second stage': {
    rita: ['cancel'],
    later: ['votes', 'hand-overs', 'questions'],
    glass: ['break-glass'],
  },
  'a request on which policy allows a grant': {
    rita: ['cancel'],
    alice: ['votes', 'hand-overs', 'questions', 'grants'],
    ann: ['votes', 'hand-overs', 'questions', 'grants'],
    stan: ['votes', 'questions'],
    glass: ['break-glass'],
  },
  'an approved request': {
    rita: ['revoke'],
    alice: ['revoke'],
    ann: ['revoke'],
    stan: ['revoke'],
  },
  'a request that was granted in an emergency': {
    rita: ['revoke'],
    alice: ['review', 'revoke'],
    ann: ['review', 'revoke'],
    stan: ['review', 'revoke'],
    later: ['review', 'revoke'],
    olga: ['review', 'revoke'],
    glass: ['revoke'],
    zed: ['review', 'revoke'],
  },
  'a request that was denied': {},
};
type State = keyof typeof ALLOWED;

describe('what people may do with a request', () => {
  const service = new ApprovalsUnderTest();
  const browsers = new Map<Viewer, Browser>();
  beforeAll(async () => {
    const first = { name: 'first', approvers: { people: ['alice', 'ann', 'bea', 'cid'] } };
    await service.start({
      approvals: {
        templates: {
          steps: {
            maxExtensionSeconds: 3_600,
            stages: [
              { ...first, quorum: 2, withinSeconds: 3_600 },
              { name: 'second', approvers: { people: ['later'] } },
            ],
          },
          single: { stages: [first] },
        },
        breakGlass: { enabled: true, approvers: { people: ['glass'] } },
      },
      identity: {
        people: [
          ...[...Object.keys(VIEWERS), 'bea', 'cid', 'wim'].map((name) => ({
            name,
            roles: name === 'olga' ? ['approver', 'approver-overseer'] : ['approver'],
          })),
        ],
      },
    });
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const body = JSON.stringify({ delegate: 'stan', until });
    expect((await service.asPerson('bea', '/delegations', { method: 'POST', body })).status).toBe(201);
    for (const name of Object.keys(VIEWERS) as Viewer[]) browsers.set(name, await service.signIn(name));
  });
  afterAll(() => service.stop());

  /** Each asks for other arguments, so that no grant of a test before covers it. */
  let opened = 0;
  const open = (template: string) => {
    const own = ofPerson(service.config.urls.issuer, { person: 'rita', agent: 'coder' });
    const args = { path: `/srv/${(opened += 1)}`, content: 'hello' };
    const grantable = grantableSubmission({ ...own, arguments: args });
    return service.open({ ...grantable, claims: { ...grantable.claims, template } });
  };
  const post = (name: string, id: string, action: string, body: object) =>
    service.asPerson(name, `/requests/${id}/${action}`, { method: 'POST', body: JSON.stringify(body) });
  const STATES: Readonly<Record<State, () => ReturnType<typeof open>>> = {
    'an open request, after one vote of two': async () => {
      const request = await open('steps');
      await service.vote('ann', request, 'approve');
      return request;
    },
    'an open request with a question to its requester': async () => {
      const request = await open('steps');
      await post('alice', request.id, 'questions', { question: 'Why?', stage: 1, number: 1 });
      await service.vote('ann', request, 'approve');
      return request;
    },
    'an open request in its second stage': async () => {
      const request = await open('steps');
      for (const name of ['ann', 'cid']) await service.vote(name, request, 'approve');
      return request;
    },
    'a request on which policy allows a grant': () => open('single'),
    'an approved request': async () => {
      const request = await open('single');
      await service.vote('ann', request, 'approve');
      return request;
    },
    'a request that was granted in an emergency': async () => {
      const request = await open('steps');
      await post('glass', request.id, 'break-glass', { callDigest: request.callDigest, reason: 'fire' });
      return request;
    },
    'a request that was denied': async () => {
      const request = await open('single');
      await service.vote('ann', request, 'deny');
      return request;
    },
  };

  const browserOf = (viewer: Viewer): Browser => {
    const browser = browsers.get(viewer);
    if (browser === undefined) throw new Error(`${viewer} is not signed in`);
    return browser;
  };
  const formsOn = (page: string, id: string): string[] =>
    ACTIONS.filter((action) => page.includes(`action="/requests/${id}/${action}"`));
  interface Seen {
    readonly stage: number;
    readonly question: number;
    readonly vote: Record<string, string>;
  }
  /** What a form has that is sent by a person who saw the request as it is. */
  const bodyOf = (action: Action, seen: Seen, callDigest: string): Record<string, string> =>
    ({
      votes: { ...seen.vote, callDigest, stage: `${seen.stage}` },
      extensions: { minutes: '5', stage: `${seen.stage}`, number: '1' },
      'hand-overs': { to: 'wim', stage: `${seen.stage}`, number: '1' },
      questions: { question: 'Which ticket?', stage: `${seen.stage}`, number: `${seen.question}` },
      answers: { answer: 'Number 7', number: '1' },
      grants: { minutes: '5', uses: '2', callDigest, stage: `${seen.stage}` },
      'break-glass': { reason: 'fire', callDigest },
      review: { note: 'fine' },
      cancel: { reason: 'no more' },
      revoke: { reason: 'no more' },
    })[action];

  const pairs = Object.keys(ALLOWED).flatMap((state) =>
    (Object.keys(VIEWERS) as Viewer[]).map((viewer) => [VIEWERS[viewer], state, viewer] as const),
  );
  it.each(pairs)('%s, of %s: the page offers exactly what is accepted', async (_what, state, viewer) => {
    const browser = browserOf(viewer);
    const make = STATES[state];
    if (make === undefined) throw new Error(`no ${state}`);
    const expected = [...(ALLOWED[state]?.[viewer] ?? [])].sort();
    let request = await make();
    const page = await (await browser.go(`/requests/${request.id}`)).text();
    expect(formsOn(page, request.id).sort()).toEqual(expected);

    const csrfToken = csrfTokenIn(await (await browser.go('/delegations')).text());
    // The same person repeats what they did, and hears the same as the first time.
    const isRepeated = viewer === 'glass' && state === 'a request that was granted in an emergency';
    const accepted: Action[] = [];
    for (const action of ACTIONS.filter((one) => !(one === 'break-glass' && isRepeated))) {
      const shown = await service.asPerson('cid', `/requests/${request.id}`);
      const asked = (shown.body.request.questions ?? []) as { by: { subject: string } }[];
      const seen = {
        stage: shown.body.request.stage.position as number,
        question: 1 + asked.filter(({ by }) => by.subject === viewer).length,
        // Other than what the person said before: a repetition is no new vote.
        vote: {
          verdict: state === 'a request that was denied' ? 'approve' : 'deny',
          ...(viewer === 'stan' && { onBehalfOf: 'bea' }),
        },
      };
      const form = { csrfToken, ...bodyOf(action, seen, request.callDigest) };
      const answer = await browser.go(`/requests/${request.id}/${action}`, form);
      const isAccepted = answer.status === 303;
      if (!isAccepted) expect([403, 404, 409]).toContain(answer.status);
      await answer.text();
      if (!isAccepted) continue;
      accepted.push(action);
      request = await make();
    }
    expect(accepted.sort()).toEqual(expected);
  });

  it.each(pairs)('%s, of %s: programs read the same of it', async (_what, state, viewer) => {
    const request = await STATES[state]?.();
    const { status, body } = await service.asPerson(viewer, `/requests/${request?.id}`);
    const allowed = ALLOWED[state]?.[viewer] ?? [];
    if (status !== 200) return expect([status, allowed]).toEqual([404, []]);
    const { obstacle, extendable, handOver, question, mayBreakGlass, mayCancel, mayRevoke } = body.request;
    const said = {
      ...{ votes: obstacle === undefined, extensions: extendable !== undefined, 'hand-overs': handOver !== undefined },
      ...{ questions: question !== undefined, 'break-glass': mayBreakGlass, cancel: mayCancel, revoke: mayRevoke },
    };
    const names = (Object.keys(said) as (keyof typeof said)[]).filter((name) => said[name]);
    expect(names.sort()).toEqual(allowed.filter((name) => Object.hasOwn(said, name)).sort());
  });

  it('lets programs of people who only read end nothing', async () => {
    for (const name of ['alice', 'ann', 'stan', 'later', 'olga', 'glass']) {
      const request = await STATES['an open request, after one vote of two']?.();
      const answer = await post(name, request?.id ?? '', 'cancel', { reason: 'x' });
      expect([name, answer.status]).toEqual([name, 403]);
      expect((await service.status(request?.id ?? '')).body.task.status).toBe('pending');
    }
    const request = await STATES['an approved request']?.();
    for (const name of ['olga', 'later', 'zed', 'glass'])
      expect([403, 404]).toContain((await post(name, request?.id ?? '', 'revoke', {})).status);
  });

  it('decides together only what each person may decide', async () => {
    for (const viewer of Object.keys(VIEWERS) as Viewer[]) {
      const browser = browserOf(viewer);
      const { id, callDigest } = await open('single');
      const isAllowed = viewer === 'alice' || viewer === 'ann';
      const page = await (await browser.go(`/requests/batch?id=${id}`)).text();
      expect([viewer, page.includes(`value="${id} 1 1 ${callDigest}"`)]).toEqual([viewer, isAllowed]);
      const csrfToken = csrfTokenIn(await (await browser.go('/delegations')).text());
      const form = { csrfToken, verdict: 'deny', item: `${id} 1 1 ${callDigest}` };
      await (await browser.go('/requests/batch', form)).text();
      expect([viewer, (await service.status(id)).body.task.status]).toEqual([viewer, isAllowed ? 'denied' : 'pending']);
    }
  });
});
