/** A person whose agent waits for her confirmation, and everything that the agent may hold. */
import { ApprovalsUnderTest } from '../../../support/approvals.ts';
import { Browser } from '../../../support/browser.ts';
import { HostIssuer, type Host, type Parts } from '../../../support/hosts.ts';
import { csrfTokenIn } from '../../../support/pages.ts';
import { beginSignIn } from '../../../support/signing-in.ts';
import { ofPerson, type SubmissionChanges } from '../../../support/submissions.ts';

const SESSION = 'countersign_approvals';
const FRESH_SECONDS = 3_600;
export const seconds = () => Math.floor(Date.now() / 1_000);

export interface Held {
  readonly id: string;
  readonly callDigest: string;
}

/** Changes of a session's person, as SQL on `$2`. */
const PERSON = `UPDATE approvals.session SET sess = jsonb_set(sess::jsonb, '{person}', ((sess::jsonb -> 'person') - 'signedInAt') || $2::jsonb)::json
  WHERE sid = $1`;

export class Scene {
  readonly service = new ApprovalsUnderTest();
  /** The host that alice signed in to, in which her agent runs, and the tokens that it has. */
  host!: Host;
  tokens!: { readonly access_token: string; readonly refresh_token: string; readonly id_token: string };

  async start(): Promise<void> {
    await this.service.start({
      approvals: {
        templates: {
          own: { stages: [{ name: 'confirmation', approvers: { requester: true }, freshSeconds: FRESH_SECONDS }] },
          either: { stages: [{ name: 'approval', approvers: { requester: true, roles: ['approver'] } }] },
        },
        webhookApprovers: { people: ['alice', 'bob'] },
        breakGlass: { enabled: true, approvers: { people: ['alice'] } },
      },
      identity: {
        people: [
          { name: 'alice', roles: ['approver'] },
          { name: 'bob', roles: ['approver', 'approver-overseer'] },
          { name: 'robot', roles: ['approver', 'approver-agent'] },
        ],
        hosts: { registrationsPerMinute: 10_000 },
      },
    });
    this.host = await this.issuer.register('http://127.0.0.1/cb', { client_name: 'The host of the agent' });
    this.tokens = await this.signInHost(this.host);
  }

  stop = () => this.service.stop();

  /** The issuer as hosts use it. */
  get issuer(): HostIssuer {
    const { config } = this.service;
    return new HostIssuer({ config, lines: [], ...({} as Pick<Parts, 'secrets' | 'start' | 'running'>) });
  }

  /** Alice signs in to a host, which may ask for her identity and for a refresh token. */
  async signInHost(host: Host): Promise<Scene['tokens']> {
    const changes = { scope: 'openid offline_access mcp', prompt: 'consent' };
    const { status, body } = await this.issuer.redeem(host, await this.issuer.code(host, { person: 'alice', changes }));
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body as never;
  }

  /** A call that the agent makes for alice, and that she may confirm. */
  hold(changes: SubmissionChanges = {}): Promise<Held> {
    const { issuer } = this.service.config.urls;
    const own = ofPerson(issuer, { person: 'alice', agent: this.host.id });
    return this.service.open({ ...own, claims: { template: 'own' }, ...changes });
  }

  /** A browser in which a person has signed in just now, and the same browser at the issuer. */
  async enter(name: string) {
    const site = new Browser(this.service.url);
    const atIssuer = new Browser(this.service.config.urls.issuer);
    const arrived = await site.go(await beginSignIn({ site, atIssuer, name }));
    // The session is stored before the answer ends.
    await arrived.text();
    return { site, atIssuer };
  }

  sidOf = (browser: Browser): string =>
    decodeURIComponent(browser.cookie(SESSION) ?? '')
      .slice(2)
      .split('.')[0] ?? '';

  /** Changes who the session says is signed in, and since when. */
  async alter(browser: Browser, person: object): Promise<void> {
    await this.service.database.pool.query(PERSON, [this.sidOf(browser), JSON.stringify(person)]);
  }

  /** Alice in a browser, whose sign-in is too old by a second. */
  async stale() {
    const entered = await this.enter('alice');
    await this.alter(entered.site, { signedInAt: seconds() - FRESH_SECONDS - 1 });
    return entered;
  }

  /** The way of a fresh sign-in, with an ID token that says this. Answers the status of the way back. */
  async signInAgain(claims: (idToken: string) => Promise<string>, name = 'alice') {
    const { site, atIssuer } = await this.stale();
    const original = globalThis.fetch;
    globalThis.fetch = async (input, init) => {
      const answer = await original(input, init);
      if (new URL(new Request(input, init).url).pathname !== '/token') return answer;
      const tokens = (await answer.json()) as { id_token: string };
      return Response.json({ ...tokens, id_token: await claims(tokens.id_token) }, { status: answer.status });
    };
    try {
      const back = await beginSignIn({ site, atIssuer, name, fresh: true });
      return { site, status: (await site.go(back)).status };
    } finally {
      globalThis.fetch = original;
    }
  }

  /** A vote as the form of the page sends it; answers its status. A page that asks for a sign-in counts as 401. */
  async vote(browser: Browser, held: Held, more: Record<string, string> = {}, headers: Record<string, string> = {}) {
    const csrfToken = csrfTokenIn(await (await browser.go('/delegations')).text());
    const { id, callDigest } = held;
    const form = { csrfToken, callDigest, generation: '1', verdict: 'approve', ...more };
    return this.statusOf(await browser.go(`/requests/${id}/votes`, form, headers));
  }

  /** A request of a program; answers its status. */
  async send(path: string, headers: Record<string, string>, body?: object): Promise<number> {
    const init = body && { method: 'POST', body: JSON.stringify(body) };
    const sent = { accept: 'application/json', 'content-type': 'application/json', ...headers };
    return this.statusOf(await fetch(`${this.service.url}${path}`, { redirect: 'manual', headers: sent, ...init }));
  }

  /** A vote with a bearer token; answers its status. */
  voteWith(token: string, { id, callDigest }: Held, more: object = {}): Promise<number> {
    const body = { verdict: 'approve', callDigest, generation: 1, ...more };
    return this.send(`/requests/${id}/votes`, { authorization: `Bearer ${token}` }, body);
  }

  statusOf = (answer: Response): number =>
    answer.headers.get('location')?.startsWith('/sign-in') === true ? 401 : answer.status;

  async outcome({ id }: Held) {
    const { rows } = await this.service.database.pool.query(
      'SELECT r.status, (SELECT count(*)::int FROM approvals.vote v WHERE v.access_request_id = r.id) AS votes FROM approvals.access_request r WHERE id = $1',
      [id],
    );
    return rows[0] as { status: string; votes: number };
  }

  cookieOf = (browser: Browser, sid?: string) => `${SESSION}=${sid ?? browser.cookie(SESSION)}`;
}
