import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JWTPayload } from 'jose';
import { startAudit } from '../../apps/audit/main.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { aGroup, aUser, directoryText } from './directory.ts';
import { listOpenRequests, postSigned, type ListedRequest } from './decisions.ts';
import { startEnforcement } from './enforcement.ts';
import { csrfTokenIn } from './pages.ts';
import { approvalForm, type Inbox, inboxIn, registered } from './passkeys.ts';
import { PolicyFolder } from './policy-folder.ts';
import { RuleEngine } from './rule-engine.ts';
import { signInTo } from './signing-in.ts';
import { waitFor } from './wait-for.ts';
import { systemTime } from './time.ts';

const APPROVERS = ['alice', 'bob', 'carol', 'dora', 'sam'];
const DAY_MS = 86_400_000;

/** The deciders, by the folder in which a call wants to write. */
const TEMPLATES = {
  one: { stages: [{ name: 'any', approvers: { roles: ['approver'] } }] },
  own: { stages: [{ name: 'person', approvers: { requester: true } }] },
  three: { stages: [{ name: 'group', approvers: { groups: ['keepers'] }, quorum: 3 }] },
  turns: {
    stages: [
      { name: 'first', approvers: { people: ['alice'] } },
      { name: 'second', approvers: { people: ['bob', 'carol'] } },
    ],
  },
  late: {
    stages: [{ name: 'hasty', approvers: { people: ['alice', 'bob', 'carol'] }, quorum: 2, withinSeconds: 600 }],
    maxExtensionSeconds: 600,
  },
  risk: { stages: [{ name: 'risk', automatic: 'risk', withoutPeople: true }] },
  signed: { stages: [{ name: 'signed', approvers: { people: ['alice'] }, passkey: true }] },
  overseen: { stages: [{ name: 'overseers', approvers: { roles: ['approver-agent'] } }] },
};
export type Template = keyof typeof TEMPLATES;

/** One policy for each template, by the written path. */
const policies = Object.keys(TEMPLATES)
  .map(
    (template) => `@id("ask-${template}") @requestable("${template}") @reason("approval_required")
permit (principal, action == Action::"tools/call", resource)
when { resource.id == "files__write_file" && context has arguments && context.arguments has path && context.arguments.path like "*/${template}/*" &&
  context has approval && context.approval.verified && context.approval.template == "${template}" };`,
  )
  .join('\n');

const keepers = (members: readonly string[]) =>
  directoryText(
    ...APPROVERS.map((name) => aUser(name, { displayName: `${name[0]?.toUpperCase()}${name.slice(1)} Example` })),
    aGroup('keepers', members),
  );

/**
 * The whole product in this process with a file server behind it, for calls whose records are read afterwards: an
 * agent, approvers with names in a directory, a rule engine, and auditors.
 */
export async function startRecordedCalls() {
  const folder = mkdtempSync(join(tmpdir(), 'recorded-calls-'));
  const people = join(folder, 'people.json');
  writeFileSync(people, keepers(APPROVERS));
  const entities = readFileSync(packagePath('policies', 'entities.json'), 'utf8');
  const schema = readFileSync(packagePath('policies', 'schema.cedarschema'), 'utf8');
  const cedar = new PolicyFolder({ 'a.cedar': policies, 'schema.cedarschema': schema, 'entities.json': entities });
  const engine = new RuleEngine();
  await engine.start();
  const product = await startEnforcement({
    own: ['pdp', 'approvals'],
    config: {
      // Only the workflow carries out deadlines: the sweeper runs after the test is over.
      worker: { sweepIntervalMs: 3_600_000 },
      pdp: { policies: cedar.path },
      directory: { file: people },
      approvals: {
        templates: TEMPLATES,
        // The longest time: no factor multiplies it.
        resolvers: { risk: engine.setting('risk', { timeoutSeconds: 60 }) },
        breakGlass: { enabled: true, approvers: { people: ['sam'] }, approvalTtlSeconds: 300 },
      },
      identity: {
        people: [
          ...APPROVERS.map((name) => ({ name, roles: ['approver'] })),
          { name: 'overseer', roles: ['approver-agent'] },
          { name: 'olga', roles: ['approver', 'approver-overseer'] },
          { name: 'agent', roles: ['agent'] },
          { name: 'olivia', displayName: 'Olivia Auditor', roles: ['auditor'] },
        ],
      },
    },
  });
  const { config, secrets, databases, log } = product;
  const enforcement = databases.enforcement;
  if (enforcement === undefined) throw new Error('the enforcement side has no database');
  const audit = await startAudit(config, secrets, { ...systemTime, log, databaseUrl: enforcement.url });
  const { urls } = config;

  /** Every answer that the agent ever got. */
  const told: string[] = [];
  const post = async (name: string, path: string, body: object): Promise<unknown> => {
    const response = await fetch(`${urls.approvals}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await product.token(name, 'approvals')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${name} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const requestFor = async (known: ReadonlySet<string>): Promise<ListedRequest> => {
    const token = await product.token('olga', 'approvals');
    return waitFor(async () => (await listOpenRequests(urls.approvals, token)).find(({ id }) => !known.has(id)));
  };
  const seen = new Set<string>();
  const hold = async (template: Template, claims?: JWTPayload): Promise<string> => {
    mkdirSync(join(product.files, template), { recursive: true });
    const path = join(product.files, template, `${crypto.randomUUID()}.txt`);
    const token = claims && (await product.tokenWith('mcp', claims));
    const answer = await product.call('write_file', { path, content: 'x' }, token);
    told.push(JSON.stringify(answer));
    return (answer as { taskId: string }).taskId;
  };
  /** The record of the task, as an auditor's program reads it. */
  const readRecord = async (taskId: string) => {
    const headers = { authorization: `Bearer ${await product.token('olivia', 'audit')}` };
    const answer = await fetch(`${urls.audit}/outcome-records/by-task/${taskId}`, { headers });
    return answer.ok ? answer.json() : undefined;
  };

  return {
    ...{ product, audit, urls, engine, told, post, secrets },
    pool: enforcement.pool,
    authority: databases.approvals!.pool,
    /** The members of the group that decides `three`, from now on. */
    async keepers(...members: string[]): Promise<void> {
      const reads = () => product.lines.filter((line) => line['msg'] === 'the directory was read again').length;
      const before = reads();
      writeFileSync(people, keepers(members));
      const token = await product.token('alice', 'approvals');
      // A question to the service makes it look at the file.
      await waitFor(async () => (await listOpenRequests(urls.approvals, token)) && reads() > before);
    },
    /**
     * A call that waits, with its access request; `claims` of the token that makes it, where it differs from the
     * agent's.
     */
    async held(template: Exclude<Template, 'risk'>, claims?: JWTPayload) {
      const taskId = await hold(template, claims);
      const request = await requestFor(seen);
      seen.add(request.id);
      return { taskId, request };
    },
    /** A call that the rule engine decides, perhaps before this function answers. */
    heldForEngine: () => hold('risk'),
    vote: (name: string, { id, callDigest }: ListedRequest, verdict: 'approve' | 'deny', more: object = {}) =>
      post(name, `/requests/${id}/votes`, { verdict, callDigest, ...more }),
    /** As a person does with a browser. */
    async voteInInbox(name: string, { id, callDigest }: ListedRequest, reason: string): Promise<void> {
      const { site } = await signInTo({ site: urls.approvals, issuer: urls.issuer }, name);
      const csrfToken = csrfTokenIn(await (await site.go(`/requests/${id}`)).text());
      const answer = await site.go(`/requests/${id}/votes`, { csrfToken, callDigest, verdict: 'approve', reason });
      if (answer.status !== 303) throw new Error(`the vote of ${name} was answered ${answer.status}`);
    },
    /** The same, with a new passkey. */
    async voteWithPasskey(name: string, request: ListedRequest): Promise<Inbox> {
      const { site: browser } = await signInTo({ site: urls.approvals, issuer: urls.issuer }, name);
      const inbox = inboxIn(browser, urls.approvals);
      const passkey = await registered(inbox);
      const { asked, send } = await approvalForm(inbox, request);
      const { status } = await send(passkey.get(asked()));
      if (status !== 303) throw new Error(`the vote of ${name} was answered ${status}`);
      return inbox;
    },
    voteByWebhook: async (
      subject: string,
      { id: requestId, callDigest, generation }: ListedRequest,
      reason: string,
    ) => {
      const body = { requestId, generation, callDigest, approver: { subject }, verdict: 'approve', reason };
      const message = { id: `msg_${crypto.randomUUID()}`, secret: secrets.decisionWebhookSecret };
      const answer = await postSigned(`${urls.approvals}/webhooks/decisions`, JSON.stringify(body), message);
      if (!answer.ok) throw new Error(`the webhook was answered ${answer.status}: ${await answer.text()}`);
    },
    delegate: (from: string, to: string) =>
      post(from, '/delegations', { delegate: to, until: new Date(Date.now() + DAY_MS).toISOString() }),
    /** Cancels the task, as its owner. */
    cancel: async (taskId: string) => void told.push(JSON.stringify(await product.rpc('tasks/cancel', { taskId }))),
    readRecord,
    /** The same, once it exists. The agent's reads of the task are kept, too. */
    async record(taskId: string) {
      const record = await waitFor(() => readRecord(taskId));
      told.push(JSON.stringify(await product.rpc('tasks/get', { taskId })));
      return record;
    },
    async stop(): Promise<void> {
      await audit.stop();
      await product.stop();
      await engine.stop();
      cedar.clear();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type RecordedCalls = Awaited<ReturnType<typeof startRecordedCalls>>;
