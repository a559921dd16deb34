import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { functionCall } from '../../apps/shared/database/function-call.ts';
import { ROLES, type Door, type Employee, type Kind, type Role, type Workplace } from './offboarding.ts';
import { csrfTokenIn } from './pages.ts';
import { ofPerson } from './submissions.ts';

const SECRET = 'canary-argument-4711';
const stage = (approvers: object) => ({ stages: [{ name: 'one', approvers }] });

/** The deciders at this workplace. `others` is for a person who stays. */
export const APPROVALS = {
  templates: {
    two: { stages: [{ name: 'two', approvers: { roles: ['approver'] }, quorum: 2 }] },
    people: stage({ roles: ['approver'] }),
    others: stage({ people: ['stays'] }),
    agents: stage({ roles: ['approver-agent'] }),
    crew: stage({ groups: ['crew'] }),
  },
  breakGlass: { enabled: true, approvers: { people: ['breaks'], roles: ['breaker'], groups: ['crew'] } },
};

/** A way to the addresses of the inbox, and the identification that it uses. */
interface Entrance {
  readonly name: 'page' | 'API';
  readonly kind: Kind;
  /** The answer to a request, or to a sent form. */
  readonly send: (path: string, form?: Record<string, string>) => Promise<string>;
  /** The content of a page, and of the JSON at the same address. */
  readonly marks: { readonly list: string; readonly delegations: string };
}

const MARKS = {
  page: { list: '/requests?status=ended', delegations: 'Who decides for you' },
  API: { list: '"requests":[', delegations: '"made":[' },
};

/** The records that auditors ask for, by every address. */
export type Records = readonly string[];

/** Every door of a person in a role at a workplace; `isOld` says whether earlier tokens are at their maximum age. */
export async function doorsOf(
  workplace: Workplace,
  { role, employee, records }: { role: Role; employee: Employee; records: Records },
  isOld: () => boolean,
): Promise<Door[]> {
  const { name, inbox, records: audit } = employee;
  const { service } = workplace;
  const byToken = async (url: string, path: string, form?: Record<string, string>) => {
    const token = await workplace.token(name, ROLES[role], { site: url, isOld: isOld() });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await service.fetch(`${url}${path}`, {
      headers,
      ...(form && { method: 'POST', body: JSON.stringify(form) }),
    });
    return JSON.stringify(answer.body);
  };
  if (audit !== undefined) {
    const page = async (path: string) => (await audit.go(path)).text();
    const json = (path: string) => byToken(workplace.recordsUrl, path);
    return [...recordDoors('page', page, records), ...recordDoors('API', json, records)];
  }
  const program: Entrance = {
    ...{ name: 'API', kind: 'token', marks: MARKS.API },
    send: (path, form) => byToken(service.url, path, form),
  };
  const desk = new Desk(workplace, name, role);
  if (inbox === undefined) return desk.voterDoors(program);
  const csrfToken = csrfTokenIn(await (await inbox.go('/requests')).text());
  const until = new Date(Date.now() + 86_400_000).toISOString();
  expect((await inbox.go('/delegations', { csrfToken, delegate: 'stays', until })).status).toBe(303);
  const browser: Entrance = {
    ...{ name: 'page', kind: 'session', marks: MARKS.page },
    send: async (path, form) => (await inbox.go(path, form && { csrfToken, ...form })).text(),
  };
  const entrances = [browser, program];
  return [
    ...entrances.flatMap((one) => [...desk.voterDoors(one), ...desk.personDoors(one), ...desk.roleDoors(one)]),
    ...desk.absentDoors(),
  ];
}

function recordDoors(name: Entrance['name'], read: (path: string) => Promise<string>, records: Records): Door[] {
  const kinds: Kind[] = [name === 'page' ? 'session' : 'token'];
  const list = { page: '<h1>Outcome records</h1>', API: '"items":[' }[name];
  return [
    { name: `audit ${name}: list`, kinds, knock: async () => (await read('/outcome-records')).includes(list) },
    ...records.map((path) => ({
      name: `audit ${name}: ${path.split('/').slice(2, -1)[0] ?? 'by itself'}`,
      kinds,
      knock: async () => (await read(path)).includes('denied'),
    })),
  ];
}

/** One person's actions at the inbox, by any of its entrances. The effects count, and not the answers. */
class Desk {
  readonly #workplace: Workplace;
  readonly #name: string;
  readonly #role: Role;

  constructor(workplace: Workplace, name: string, role: Role) {
    this.#workplace = workplace;
    this.#name = name;
    this.#role = role;
  }

  get #service() {
    return this.#workplace.service;
  }
  /** The template that the role decides. */
  get #own() {
    return this.#role === 'agent' ? 'agents' : 'people';
  }
  #open(template: string) {
    return this.#service.open({ arguments: { path: SECRET }, claims: { template } });
  }
  async #isNow(status: string, id: string) {
    return (await this.#service.status(id)).body.task.status === status;
  }
  async #count(text: string, ...values: string[]): Promise<number> {
    return (await this.#service.database.pool.query(text, values)).rowCount ?? 0;
  }

  #votes({ send }: Entrance, template: string, verdict: 'approve' | 'deny') {
    return async () => {
      const { id, callDigest } = await this.#open(template);
      await send(`/requests/${id}/votes`, { verdict, callDigest });
      return this.#isNow(verdict === 'approve' ? 'approved' : 'denied', id);
    };
  }

  /** Actions of people and supervising agents. */
  voterDoors(by: Entrance): Door[] {
    const { name, kind, send, marks } = by;
    const door = (what: string, knock: Door['knock'], ...more: Kind[]): Door => ({
      name: `${name}: ${what}`,
      kinds: [kind, ...more],
      knock,
    });
    return [
      door('list', async () => (await send('/requests?status=approved')).includes(marks.list)),
      door('request', async () => (await send(`/requests/${(await this.#open(this.#own)).id}`)).includes(SECRET)),
      door('approve', this.#votes(by, this.#own, 'approve')),
      door('deny', this.#votes(by, this.#own, 'deny')),
      door('approve for a group', this.#votes(by, 'crew', 'approve'), 'group'),
    ];
  }

  /** Actions of people alone. */
  personDoors({ name, kind, send, marks }: Entrance): Door[] {
    const door = (what: string, knock: Door['knock']): Door => ({ name: `${name}: ${what}`, kinds: [kind], knock });
    return [
      door('delegations', async () => (await send('/delegations')).includes(marks.delegations)),
      door('cancel', async () => {
        const own = ofPerson(this.#service.config.urls.issuer, { person: this.#name, agent: 'coder' });
        const { id } = await this.#service.open({ ...own, claims: { template: 'people' } });
        await send(`/requests/${id}/cancel`, {});
        return this.#isNow('cancelled', id);
      }),
      door('revoke an approval', async () => {
        const request = await this.#open('people');
        expect((await this.#service.vote('stays', request, 'approve')).status).toBe(200);
        await send(`/requests/${request.id}/revoke`, {});
        return (await this.#count('SELECT FROM approvals.revocation WHERE access_request_id = $1', request.id)) > 0;
      }),
      door('delegate', async () => {
        // No other door makes a delegation to this one.
        const delegate = name === 'page' ? 'stays' : 'breaks';
        const made = 'SELECT FROM approvals.delegation WHERE (delegator_subject, delegate_subject) = ($1, $2)';
        const before = await this.#count(made, this.#name, delegate);
        await send('/delegations', { delegate, until: new Date(Date.now() + 86_400_000).toISOString() });
        return (await this.#count(made, this.#name, delegate)) > before;
      }),
      door('end a delegation', async () => {
        const id = await this.#delegation();
        await send(`/delegations/${id}/revoke`, {});
        const ended = 'SELECT FROM approvals.delegation WHERE id = $1 AND revoked_at IS NOT NULL';
        return (await this.#count(ended, id)) > 0;
      }),
      door('review', async () => {
        const { id, callDigest } = await this.#open('two');
        const body = JSON.stringify({ reason: 'now', callDigest });
        const broken = await this.#service.asPerson('breaks', `/requests/${id}/break-glass`, { method: 'POST', body });
        expect(broken.status).toBe(200);
        await send(`/requests/${id}/review`, { note: 'fine' });
        return (await this.#service.asPerson('breaks', `/requests/${id}`)).body.request.breakGlass.review !== undefined;
      }),
    ];
  }

  /** A delegation of this person, as stored in the database. */
  async #delegation(): Promise<string> {
    const id = `dlg_${randomUUID()}`;
    const { issuer } = this.#service.config.urls;
    const until = new Date(Date.now() + 86_400_000);
    const delegator = { delegator_issuer: issuer, delegator_subject: this.#name, delegator_chain: [] };
    const made = { id, ...delegator, delegator_roles: ['approver'], delegate_subject: 'elsewhere', until };
    const { text, values } = functionCall('approvals.delegate', made);
    await this.#service.database.pool.query(`SELECT ${text}`, values);
    return id;
  }

  /** Doors that a role beside `approver`, or a group, opens. */
  roleDoors({ name, kind, send }: Entrance): Door[] {
    const breaking: Door = {
      name: `${name}: break-glass`,
      kinds: this.#role === 'breaker' ? [kind] : [kind, 'group'],
      knock: async () => {
        const { id, callDigest } = await this.#open('two');
        await send(`/requests/${id}/break-glass`, { reason: 'now', callDigest });
        return this.#isNow('approved', id);
      },
    };
    const overseeing: Door = {
      name: `${name}: a request of others`,
      kinds: [kind],
      knock: async () => {
        const request = await this.#open('others');
        // A person who may grant alone reads open requests. A request that has ended cannot be granted.
        expect((await this.#service.vote('stays', request, 'deny')).status).toBe(200);
        return (await send(`/requests/${request.id}`)).includes(SECRET);
      },
    };
    return this.#role === 'overseer' ? [breaking, overseeing] : [breaking];
  }

  /** Decisions in the person's name while they are elsewhere. */
  absentDoors(): Door[] {
    const door = (
      kind: Kind,
      what: string,
      decide: (request: { id: string; callDigest: string }) => Promise<unknown>,
    ) =>
      (['people', 'crew'] as const).map((template): Door => ({
        name: template === 'crew' ? `${what}, for a group` : what,
        kinds: template === 'crew' ? [kind, 'group'] : [kind],
        knock: async () => {
          const request = await this.#open(template);
          await decide(request);
          return this.#isNow('approved', request.id);
        },
      }));
    return [
      ...door('webhook', 'webhook', (request) => this.#service.voteByWebhook(this.#name, request, 'approve')),
      ...door('delegation', 'delegation that was given before', (request) =>
        this.#service.vote('stays', request, 'approve', { onBehalfOf: this.#name }),
      ),
    ];
  }
}
