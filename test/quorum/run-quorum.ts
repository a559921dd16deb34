import { ApprovalsUnderTest } from '../support/approvals.ts';
import type { Browser } from '../support/browser.ts';
import { csrfTokenIn } from '../support/pages.ts';
import { inParallel } from '../support/regime.ts';
import { untilAnswered } from '../support/wait-for.ts';

/** Requests that are voted on at the same time. */
const AT_ONCE = 4;
const PEOPLE = ['alice', 'bob', 'carol'] as const;

export interface QuorumFigures {
  readonly requests: number;
  readonly seconds: number;
  /** The votes sent, and their answers. */
  readonly sent: number;
  readonly answers: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  readonly callbacks: number;
  /** Violations of: exactly one resolution, by exactly two people, reported once. */
  readonly contradictions: readonly string[];
}

/**
 * For each request that two of three have to approve, all three do so at the same moment: one in two browsers and with
 * a token, one in a browser and by webhook, one by webhook and with a token. Repeated votes count once, and late votes
 * do not count.
 */
export async function runQuorum(requests: number): Promise<QuorumFigures> {
  const service = new ApprovalsUnderTest();
  await service.start({
    approvals: {
      templates: { two_of_three: { stages: [{ name: 'two', approvers: { people: [...PEOPLE] }, quorum: 2 }] } },
      webhookApprovers: [...PEOPLE],
    },
    identity: {
      people: [...PEOPLE.map((name) => ({ name, roles: ['approver'] })), { name: 'agent', roles: ['agent'] }],
    },
  });
  try {
    return await race(service, requests);
  } finally {
    await service.stop();
  }
}

type Opened = Awaited<ReturnType<ApprovalsUnderTest['open']>>;

async function race(service: ApprovalsUnderTest, requests: number): Promise<QuorumFigures> {
  const voters = await votersOf(service);
  const answers: Record<string, number> = {};
  const began = performance.now();
  await inParallel(requests, AT_ONCE, async () => {
    const request = await service.open({ claims: { template: 'two_of_three' } });
    const answered = voters.map((vote) => untilAnswered(async () => ({ status: await vote(request) })));
    for (const { status } of await Promise.all(answered)) answers[status] = (answers[status] ?? 0) + 1;
  });
  const seconds = (performance.now() - began) / 1_000;
  const found = await contradictionsIn(service, requests);
  const unexpected = Object.keys(answers).filter((status) => !['200', '303', '409'].includes(status));
  const contradictions = [...found.contradictions, ...unexpected.map((status) => `votes were answered ${status}`)];
  return { requests, seconds, sent: requests * voters.length, answers, ...found, contradictions };
}

/** Every way in which the three vote; each answers the status of its response. */
async function votersOf(service: ApprovalsUnderTest): Promise<((request: Opened) => Promise<number>)[]> {
  const inbox = async (name: string) => {
    const browser = await service.signIn(name);
    const csrfToken = csrfTokenIn(await (await browser.go('/requests')).text());
    return byBrowser(browser, csrfToken);
  };
  const token = async (name: string) => {
    const headers = { authorization: `Bearer ${await service.token(name)}`, 'content-type': 'application/json' };
    return async ({ id, callDigest }: Opened) => {
      const body = JSON.stringify({ verdict: 'approve', callDigest });
      return (await service.fetch(`/requests/${id}/votes`, { method: 'POST', headers, body })).status;
    };
  };
  const webhook = (name: string) => async (request: Opened) =>
    (await service.voteByWebhook(name, request, 'approve')).status;
  return [
    ...[await inbox('alice'), await inbox('alice'), await token('alice')],
    ...[await inbox('bob'), webhook('bob')],
    ...[webhook('carol'), await token('carol')],
  ];
}

function byBrowser(browser: Browser, csrfToken: string) {
  return async ({ id, callDigest }: Opened): Promise<number> => {
    const form = { verdict: 'approve', callDigest, generation: '1', stage: '1', csrfToken };
    const answer = await browser.go(`/requests/${id}/votes`, form);
    await answer.arrayBuffer();
    return answer.status;
  };
}

async function contradictionsIn(service: ApprovalsUnderTest, requests: number) {
  const { rows } = await service.database.pool.query<{
    id: string;
    status: string;
    people: number;
    votes: number;
    queued: number;
  }>(
    `SELECT r.id, r.status, count(DISTINCT v.approver_subject)::int AS people, count(v)::int AS votes,
       (SELECT count(*)::int FROM approvals.outbox o WHERE o.subject_id = r.id) AS queued
     FROM approvals.access_request r LEFT JOIN approvals.vote v ON v.access_request_id = r.id GROUP BY r.id`,
  );
  const statuses: Record<string, number> = {};
  for (const { status } of rows) statuses[status] = (statuses[status] ?? 0) + 1;
  const told = new Map<string, number>();
  for (const { headers } of service.callbacks) {
    const id = String(headers['webhook-id']).replace(/^msg_/, '');
    told.set(id, (told.get(id) ?? 0) + 1);
  }
  const wrong = rows.filter(({ status, people, votes }) => status !== 'approved' || people !== 2 || votes !== 2);
  const untold = rows.filter(({ id, queued }) => queued > 1 || (told.get(id) ?? 0) + queued === 0);
  return {
    statuses,
    callbacks: told.size,
    contradictions: [
      ...(rows.length === requests ? [] : [`there are ${rows.length} requests instead of ${requests}`]),
      ...wrong.map((row) => `${row.id} is ${row.status} with ${row.votes} votes of ${row.people} people`),
      ...untold.map(
        ({ id, queued }) =>
          `the end of ${id} was reported ${told.get(id) ?? 0} times, and ${queued} more reports are queued`,
      ),
    ],
  };
}
