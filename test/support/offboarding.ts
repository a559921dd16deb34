import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { startAudit } from '../../apps/audit/main.ts';
import type { Running } from '../../apps/shared/lifecycle.ts';
import { ApprovalsUnderTest } from './approvals.ts';
import type { Browser } from './browser.ts';
import { SEALING_SECRETS } from './gated-calls.ts';
import { aGroup, aUser, directoryText } from './directory.ts';
import { signInTo, signOutAtIssuer } from './signing-in.ts';
import { systemTime } from './time.ts';

/** How a door identifies the visitor. */
export type Kind = 'session' | 'token' | 'webhook' | 'delegation' | 'group';

/** An access of a person in a role, and whether it succeeded: the effect counts, and not the answer. */
export interface Door {
  readonly name: string;
  /** The loss of any of these shuts it. */
  readonly kinds: readonly Kind[];
  knock(): Promise<boolean>;
}

/** Every role that opens a door here. The configuration lets a `breaker` grant alone. */
export const ROLES = {
  approver: ['approver'],
  breaker: ['approver', 'breaker'],
  overseer: ['approver', 'approver-overseer'],
  agent: ['approver-agent'],
  auditor: ['auditor'],
} as const;
export type Role = keyof typeof ROLES;

/**
 * The ways to dismiss people, and the doors that each of them shuts. The end of a session does not end the person's
 * access, since the person may sign in again: it shuts the doors behind that session, and neither tokens nor decisions
 * in the person's name. A group opens only the requests that it decides, so leaving it shuts only these, through any
 * door. The issuer of these tests is the embedded one, whose people the webhook and delegations use as well; another
 * issuer cannot be asked about people who are not signed in, so there only the directory shuts these.
 */
export const WAYS = {
  'the role is taken away at the issuer': ['session', 'token', 'webhook', 'delegation'],
  'the account is disabled in the directory': ['session', 'token', 'webhook', 'delegation', 'group'],
  'the account is disabled at the issuer': ['session', 'token', 'webhook', 'delegation'],
  'the session is ended at the issuer': ['session'],
  'the person leaves the groups': ['group'],
} as const satisfies Record<string, readonly Kind[]>;
export type Way = keyof typeof WAYS;
export const BY_DIRECTORY: readonly Way[] = [
  'the account is disabled in the directory',
  'the person leaves the groups',
];

interface Member {
  readonly name: string;
  readonly roles: readonly string[];
  readonly groups?: readonly string[];
}

/** A person with a job, wherever they are signed in. */
export interface Employee {
  readonly name: string;
  readonly inbox?: Browser;
  readonly records?: Browser;
  /** The same browsers at the issuer, where each sign-in has its own session. */
  readonly atIssuer: readonly Browser[];
}

/** Inbox and auditors' pages with one issuer and one directory, from which people are dismissed in every way. */
export class Workplace {
  readonly service = new ApprovalsUnderTest();
  readonly #folder = mkdtempSync(join(tmpdir(), 'workplace-'));
  readonly #directory = join(this.#folder, 'people.json');
  readonly #inactive = new Set<string>();
  readonly #members: Member[] = [];
  #audit: Running | undefined;

  async start(members: readonly Member[], approvals: Record<string, unknown>): Promise<void> {
    this.#members.push(...members);
    this.#writeDirectory();
    await this.service.start({
      approvals,
      audit: { clientId: 'countersign-audit' },
      directory: { file: this.#directory },
      identity: { people: members.map(({ name, roles }) => ({ name, roles: [...roles] })) },
    });
    const { config, secrets, database } = this.service;
    const own = { ...secrets, ...SEALING_SECRETS };
    this.#audit = await startAudit(config, own, {
      ...systemTime,
      log: pino({ level: 'silent' }),
      databaseUrl: database.url,
    });
  }

  async stop(): Promise<void> {
    await this.#audit?.stop();
    await this.service.stop();
    rmSync(this.#folder, { recursive: true });
  }

  get recordsUrl(): string {
    return this.service.config.urls.audit;
  }

  #writeDirectory(): void {
    const users = this.#members.map(({ name }) => aUser(name, { active: !this.#inactive.has(name) }));
    const groups = [...new Set(this.#members.flatMap(({ groups: own = [] }) => own))];
    const membersOf = (group: string) =>
      this.#members.filter(({ groups: own = [] }) => own.includes(group)).map(({ name }) => name);
    writeFileSync(this.#directory, directoryText(...users, ...groups.map((one) => aGroup(one, membersOf(one)))));
  }

  async arrive(name: string, sites: readonly ('inbox' | 'records')[]): Promise<Employee> {
    const { urls } = this.service.config;
    const at = { inbox: urls.approvals, records: urls.audit };
    const signedIn = await Promise.all(sites.map((site) => signInTo({ site: at[site], issuer: urls.issuer }, name)));
    const browsers = Object.fromEntries(sites.map((site, index) => [site, signedIn[index]?.site]));
    return { name, atIssuer: signedIn.map(({ atIssuer }) => atIssuer), ...browsers };
  }

  async dismiss(way: Way, employee: Employee): Promise<void> {
    const { name } = employee;
    switch (way) {
      case 'the role is taken away at the issuer':
        return this.loseRoles(name, ['guest']);
      case 'the account is disabled in the directory':
        return this.#deactivate(name);
      case 'the account is disabled at the issuer':
        return this.#loseAccount(name);
      case 'the session is ended at the issuer':
        return this.#endSessions(employee);
      case 'the person leaves the groups':
        return this.#leaveGroups(name);
    }
  }

  /** The issuer now gives the person only these roles. */
  loseRoles(name: string, kept: readonly string[]): void {
    for (const person of this.service.config.identity.people) if (person.name === name) person.roles = [...kept];
  }

  /** The issuer no longer has such an account. */
  #loseAccount(name: string): void {
    const { people } = this.service.config.identity;
    people.splice(
      people.findIndex((person) => person.name === name),
      1,
    );
  }

  #deactivate(name: string): void {
    this.#inactive.add(name);
    this.#writeDirectory();
  }

  #leaveGroups(name: string): void {
    const at = this.#members.findIndex((member) => member.name === name);
    const member = this.#members[at];
    if (member !== undefined) this.#members[at] = { ...member, groups: [] };
    this.#writeDirectory();
  }

  /** Ends the issuer's sessions of this person, as its own page does. */
  async #endSessions({ atIssuer }: Employee): Promise<void> {
    for (const browser of atIssuer) await signOutAtIssuer(browser);
  }

  /** Time passes: the issuer's answers are at their maximum age. */
  async passBound(): Promise<void> {
    await this.service.passBound('approvals');
    await this.service.passBound('audit');
  }

  /** A token of the issuer with these roles: made now, or a minute longer ago than one counts. */
  token(name: string, roles: readonly string[], { site, isOld }: { site: string; isOld: boolean }): Promise<string> {
    const { tokenMaxAgeSeconds } = this.service.config.identity;
    const iat = Math.floor(Date.now() / 1_000) - (isOld ? tokenMaxAgeSeconds + 60 : 0);
    return this.service.tokenWith({ sub: name, roles, aud: site, iat, scope: 'approvals audit' });
  }
}
