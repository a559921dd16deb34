import type { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Authenticator } from '../../support/authenticator.ts';
import { approvalForm, type Inbox, inboxIn, registered } from '../../support/passkeys.ts';

const stage = (name: string, people: string[], more: object = {}) => ({ name, approvers: { people }, ...more });
const passkey = true;
const people = ['alice', 'bob', 'carol', 'robot'];
const templates = {
  one: { stages: [stage('one', people, { passkey })] },
  turns: {
    stages: [stage('first', ['alice'], { passkey }), stage('second', ['alice'], { passkey })],
    separateStages: false,
  },
  whole: { stages: [stage('first', ['alice']), stage('second', ['bob'])], passkey },
};

/** The settings of the service. Carol oversees, and robot is a supervising agent. */
export const SETTINGS = {
  approvals: { templates, breakGlass: { enabled: true, approvers: { people: ['carol'] } } },
  identity: {
    people: [
      ...['alice', 'bob'].map((name) => ({ name, roles: ['approver'] })),
      { name: 'carol', roles: ['approver', 'approver-overseer'] },
      { name: 'robot', roles: ['approver-agent'] },
    ],
  },
};

export type Opened = Awaited<ReturnType<ApprovalsUnderTest['open']>>;

/** Three people with their browsers, two of them with a passkey. */
export class PasskeyWorld {
  readonly service: ApprovalsUnderTest;
  readonly #inboxes = new Map<string, Inbox>();
  readonly #keys = new Map<string, Authenticator>();

  constructor(service: ApprovalsUnderTest) {
    this.service = service;
  }

  /** Of a service that runs with `SETTINGS`. */
  async begin(): Promise<void> {
    for (const name of ['alice', 'bob', 'carol']) {
      this.#inboxes.set(name, inboxIn(await this.service.signIn(name), this.service.url));
    }
    for (const name of ['alice', 'bob']) this.#keys.set(name, await registered(this.inboxOf(name)));
  }

  inboxOf = (name: string): Inbox => of(this.#inboxes, name);
  keyOf = (name: string): Authenticator => of(this.#keys, name);
  open = (template: keyof typeof templates = 'one') => this.service.open({ claims: { template } });
  formFor = (name: string, request: Opened) => approvalForm(this.inboxOf(name), request);
  statusOf = async ({ id }: Opened) => (await this.service.status(id)).body.task.status as string;
  votesOn = async ({ id }: Opened) =>
    (await this.query('SELECT * FROM approvals.vote WHERE access_request_id = $1', id)).rows;
  query = (text: string, ...values: unknown[]) => this.service.database.pool.query(text, values);
}

function of<Value>(all: ReadonlyMap<string, Value>, name: string): Value {
  const found = all.get(name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}
