import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from '../support/browser.ts';
import { endedCalls } from './audit/ended-calls.ts';
import { WAYS, Workplace, type Door, type Employee, type Kind } from '../support/offboarding.ts';
import { csrfTokenIn } from '../support/pages.ts';
import { waitFor } from '../support/wait-for.ts';

const SECRET = 'canary-argument-4711';
const ROLES = {
  approver: ['approver'],
  breaker: ['approver', 'breaker'],
  agent: ['approver-agent'],
  auditor: ['auditor'],
} as const;
type Role = keyof typeof ROLES;
const ROLE_NAMES = Object.keys(ROLES) as Role[];

type Way = keyof typeof WAYS;
const WAY_NAMES = Object.keys(WAYS) as Way[];

const BY_DIRECTORY: readonly Way[] = ['the account is disabled in the directory', 'the person leaves the groups'];
const nameOf = (role: Role, way: Way) => `${role}-${WAY_NAMES.indexOf(way)}`;
const CASES = ROLE_NAMES.flatMap((role) => WAY_NAMES.map((way) => [role, way] as const));

describe('a person who is dismissed while they are signed in', () => {
  const workplace = new Workplace();
  const { service } = workplace;
  const stage = (approvers: object) => ({ stages: [{ name: 'one', approvers }] });
  const two = { stages: [{ name: 'two', approvers: { roles: ['approver'] }, quorum: 2 }] };
  let recordUrl: string;
  beforeAll(async () => {
    const people = CASES.map(([role, way]) => ({ name: nameOf(role, way), roles: ROLES[role], groups: ['crew'] }));
    const others = ['stays', 'breaks'].map((name) => ({ name, roles: ['approver'] }));
    await workplace.start([...people, ...others, { name: 'agent', roles: ['agent'] }], {
      templates: {
        two,
        people: stage({ roles: ['approver'] }),
        agents: stage({ roles: ['approver-agent'] }),
        crew: stage({ groups: ['crew'] }),
      },
      breakGlass: { enabled: true, approvers: { people: ['breaks'], roles: ['breaker'], groups: ['crew'] } },
    });
    const call = await endedCalls(service.database.pool).end('denied');
    recordUrl = `/outcome-records/by-task/${call.taskId}`;
  });
  afterAll(() => workplace.stop());

  const open = (template: string) => service.open({ arguments: { path: SECRET }, claims: { template } });
  const statusOf = async (id: string) => (await service.status(id)).body.task.status as string;
  const shows = async (browser: Browser, path: string, text: string) =>
    (await (await browser.go(path)).text()).includes(text);

  /** Everything that is behind a session of the inbox. */
  function pages(inbox: Browser, csrfToken: string, name: string): Door[] {
    const post = (path: string, form: Record<string, string>) => inbox.go(path, { csrfToken, ...form });
    const decide = (template: string, verdict: string) => async () => {
      const { id, callDigest } = await open(template);
      await post(`/requests/${id}/votes`, { verdict, callDigest });
      return (await statusOf(id)) !== 'pending';
    };
    const door = (what: string, knock: Door['knock'], kind: Kind = 'session') => ({
      name: `page: ${what}`,
      kind,
      knock,
    });
    return [
      door('list', () => shows(inbox, '/requests', '/requests?status=ended')),
      door('request', async () => shows(inbox, `/requests/${(await open('people')).id}`, SECRET)),
      door('delegations', () => shows(inbox, '/delegations', 'Who decides for you')),
      door('approve', decide('people', 'approve')),
      door('deny', decide('people', 'deny')),
      door('approve for a group', decide('crew', 'approve'), 'group'),
      door('cancel', async () => {
        const { id } = await open('people');
        await post(`/requests/${id}/cancel`, {});
        return (await statusOf(id)) === 'cancelled';
      }),
      door('delegate', async () => {
        const count = async () =>
          (await service.database.pool.query('SELECT FROM approvals.delegation WHERE delegator_subject = $1', [name]))
            .rowCount ?? 0;
        const before = await count();
        const until = new Date(Date.now() + 86_400_000).toISOString();
        await post('/delegations', { delegate: 'stays', until });
        return (await count()) > before;
      }),
      door('review', async () => {
        const { id, callDigest } = await open('two');
        const body = JSON.stringify({ reason: 'now', callDigest });
        const broken = await service.asPerson('breaks', `/requests/${id}/break-glass`, { method: 'POST', body });
        expect(broken.status).toBe(200);
        await post(`/requests/${id}/review`, { note: 'fine' });
        return (await service.asPerson('breaks', `/requests/${id}`)).body.request.breakGlass.review !== undefined;
      }),
    ];
  }

  const breaking = (inbox: Browser, csrfToken: string, kind: Kind): Door => ({
    name: 'page: break-glass',
    kind,
    async knock() {
      const { id, callDigest } = await open('two');
      await inbox.go(`/requests/${id}/break-glass`, { csrfToken, reason: 'now', callDigest });
      return (await statusOf(id)) === 'approved';
    },
  });

  /** What a program does with a token that was made before, once it is as old as one may get. */
  function programs(name: string, role: Role, isOld: () => boolean): Door[] {
    const template = role === 'agent' ? 'agents' : 'people';
    const as = async (path: string, body?: object) => {
      const token = await workplace.token(name, ROLES[role], { site: service.url, isOld: isOld() });
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      return service.fetch(path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
    };
    const votes = async (of: string) => {
      const { id, callDigest } = await open(of);
      await as(`/requests/${id}/votes`, { verdict: 'approve', callDigest });
      return (await statusOf(id)) === 'approved';
    };
    const read = async (path: string, text: string) => JSON.stringify((await as(path)).body).includes(text);
    const list = () => read('/requests?status=approved', '"requests":[');
    return [
      { name: 'API: list', kind: 'token', knock: list },
      {
        name: 'API: request',
        kind: 'token',
        knock: async () => read(`/requests/${(await open(template)).id}`, SECRET),
      },
      { name: 'API: vote', kind: 'token', knock: () => votes(template) },
      { name: 'API: vote for a group', kind: 'group', knock: () => votes('crew') },
    ];
  }

  function absent(name: string): Door[] {
    return [
      {
        name: 'webhook',
        kind: 'webhook',
        async knock() {
          const request = await open('people');
          await service.voteByWebhook(name, request, 'approve');
          return (await statusOf(request.id)) === 'approved';
        },
      },
      {
        name: 'delegation that was given before',
        kind: 'delegation',
        async knock() {
          const request = await open('people');
          await service.vote('stays', request, 'approve', { onBehalfOf: name });
          return (await statusOf(request.id)) === 'approved';
        },
      },
    ];
  }

  function records(browser: Browser, name: string, isOld: () => boolean): Door[] {
    const shown = (text: string) => text.includes('denied');
    return [
      {
        name: 'audit page: list',
        kind: 'session',
        knock: () => shows(browser, '/outcome-records', '<h1>Outcome records</h1>'),
      },
      {
        name: 'audit page: record',
        kind: 'session',
        knock: async () => shown(await (await browser.go(recordUrl)).text()),
      },
      {
        name: 'audit API',
        kind: 'token',
        async knock() {
          const token = await workplace.token(name, ROLES.auditor, { site: workplace.recordsUrl, isOld: isOld() });
          const answer = await service.fetch(`${workplace.recordsUrl}${recordUrl}`, {
            headers: { authorization: `Bearer ${token}` },
          });
          return shown(JSON.stringify(answer.body));
        },
      },
    ];
  }

  async function doorsOf(role: Role, { name, inbox, records: audit }: Employee, isOld: () => boolean): Promise<Door[]> {
    if (audit !== undefined) return records(audit, name, isOld);
    const byProgram = programs(name, role, isOld);
    if (inbox === undefined) return byProgram;
    const csrfToken = csrfTokenIn(await (await inbox.go('/requests')).text());
    const until = new Date(Date.now() + 86_400_000).toISOString();
    expect((await inbox.go('/delegations', { csrfToken, delegate: 'stays', until })).status).toBe(303);
    const all = [...pages(inbox, csrfToken, name), ...byProgram, ...absent(name)];
    return role === 'breaker'
      ? [...all, breaking(inbox, csrfToken, 'session')]
      : [...all, breaking(inbox, csrfToken, 'group')];
  }

  async function dismiss(way: Way, employee: Employee): Promise<void> {
    const { name } = employee;
    switch (way) {
      case 'the role is taken away at the issuer':
        return workplace.loseRoles(name);
      case 'the account is disabled in the directory':
        return workplace.deactivate(name);
      case 'the account is disabled at the issuer':
        return workplace.loseAccount(name);
      case 'the session is ended at the issuer':
        return workplace.endSessions(employee);
      case 'the person leaves the groups':
        return workplace.leaveGroups(name);
    }
  }

  const SITES = { approver: ['inbox'], breaker: ['inbox'], agent: [], auditor: ['records'] } as const;

  it.each(CASES)('%s, and %s: every door that this shuts is shut, and no other', async (role, way) => {
    let isOver = false;
    const employee = await workplace.arrive(nameOf(role, way), SITES[role]);
    const doors = await doorsOf(role, employee, () => isOver && way !== 'the account is disabled in the directory');
    const knock = async () => {
      const opened = await Promise.all(doors.map((door) => door.knock()));
      return doors.filter((_door, index) => opened[index]).map(({ name }) => name);
    };
    expect(await knock()).toEqual(doors.map(({ name }) => name));

    await dismiss(way, employee);
    await workplace.passBound();
    isOver = WAYS[way].some((kind) => kind === 'token');
    const shut: readonly Kind[] = WAYS[way];
    const stillOpen = doors.filter(({ kind, name }) => !shut.includes(kind) && !isShutAsWell(way, kind, name));
    const first = doors.find(({ kind }) => shut.includes(kind));
    // The directory is read anew within a second; the issuer is asked at the next request.
    if (BY_DIRECTORY.includes(way) && first !== undefined) await waitFor(async () => !(await first.knock()));
    expect(await knock()).toEqual(stillOpen.map(({ name }) => name));
  });

  /** What decides for a group does so through a session or a token, which may be shut themselves. */
  const isShutAsWell = (way: Way, kind: Kind, name: string) =>
    kind === 'group' && (WAYS[way] as readonly Kind[]).includes(name.startsWith('page') ? 'session' : 'token');
});
