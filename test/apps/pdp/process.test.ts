import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { POLICIES_MEMBER, POLICY_VERSION_MEMBER } from '../../../workflows/domain/authzen/evaluation.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { freePort } from '../../../apps/shared/embedded/process-tools.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { post } from '../../support/pdp.ts';
import { aCall, permitting, PolicyFolder } from '../../support/policy-folder.ts';
import { PATIENT_FACTOR } from '../../support/time.ts';
import { patiently } from '../../support/wait-for.ts';

let database: TestDatabase;
let pdp: ChildProcess;
let url: string;
const policies = new PolicyFolder({
  'b.cedar': `@id("ask-b") @requestable("boss") permit (principal, action == Action::"tools/call", resource)
    when { resource.id == "b" && context has approval && context.approval.verified && context.approval.template == "boss" };`,
  'c.cedar': '@id("never-c") forbid (principal, action, resource == Resource::"tool|c");',
});
const folder = mkdtempSync(join(tmpdir(), 'countersign-pdp-process-'));
/** The token of a third-party enforcement point. */
const OTHER_TOKEN = 'a-token-of-a-third-party-0123456789';
const decisions = join(folder, 'decisions.jsonl');

beforeAll(async () => {
  database = await createTestDatabase();
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const enforcementPoints = { other: { token: OTHER_TOKEN } };
  const own = { port, policies: policies.path, decisionLog: './decisions.jsonl', enforcementPoints };
  const config = { timeLimitFactor: PATIENT_FACTOR, pdp: own };
  writeFileSync(join(folder, 'countersign.yaml'), stringify(config));
  pdp = spawn(process.execPath, [packagePath('dist', 'apps', 'pdp', 'main.js')], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env['PATH'], DATABASE_URL: database.url, COUNTERSIGN_STATE: join(folder, 'state') },
  });
});
afterAll(async () => {
  if (pdp.exitCode === null && pdp.signalCode === null) {
    const gone = once(pdp, 'exit');
    pdp.kill('SIGTERM');
    await gone;
  }
  await database.drop();
  policies.clear();
  rmSync(folder, { recursive: true });
});

const health = async () => (await (await fetch(`${url}/healthz`)).json()) as { policy_version: string };

const ask = async (...tools: string[]) => {
  const { pdpToken } = JSON.parse(readFileSync(join(folder, 'state', 'secrets.json'), 'utf8')) as { pdpToken: string };
  return askWith(pdpToken, tools);
};
const askWith = async (token: string, tools: string[]) => {
  const headers = { Authorization: `Bearer ${token}` };
  const evaluations = tools.map((tool) => ({ ...aCall(tool) }));
  return await post(url, { evaluations }, { path: '/access/v1/evaluations', headers });
};

/** The names of all members, at any depth. */
const namesIn = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => [...(Array.isArray(value) ? [] : [name]), ...namesIn(inner)])
    : [];

describe('the process of the decision point', () => {
  it('names the version of the policies on every decision, on its record and to operators', async () => {
    const { policy_version: version } = await patiently(health);
    const { evaluations = [] } = (await ask('a', 'b', 'c')).body;
    const contexts = evaluations.map(({ context }) => context as Record<string, string>);
    expect(contexts.map((context) => context[POLICY_VERSION_MEMBER])).toEqual([version, version, version]);
    const evaluationId = contexts[1]?.['evaluation_id'] ?? '';
    const row = await database.prisma.evaluation.findUniqueOrThrow({ where: { evaluationId } });
    expect(row.policyVersion).toBe(version);
    expect(await health()).toEqual({
      status: 'ok',
      policy_version: version,
      policies_in_force_since: expect.stringMatching(/Z$/),
    });
    expect(version).toMatch(/^sha-256:[0-9a-f]{64}$/);
  });

  it('tells our own gateway and worker which policies determined a decision', async () => {
    const { evaluations = [] } = (await ask('a', 'b', 'c', 'none')).body;
    const named = evaluations.map(({ context }) => (context as Record<string, unknown>)[POLICIES_MEMBER]);
    expect(named).toEqual([['permit-a'], ['ask-b'], ['never-c'], undefined]);
  });

  it('hides the names of policies from all others, and marks its own member as profiles require [ARAP-DEN-19] [ARAP-EXT-02]', async () => {
    const { text, body } = await askWith(OTHER_TOKEN, ['a', 'b', 'c']);
    for (const id of ['permit-a', 'ask-b', 'never-c']) expect(text).not.toContain(id);
    const names = new Set(namesIn(body));
    expect(names).toContain('binding_token');
    const own = [...names].filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name));
    expect(own).toEqual([expect.stringMatching(/^dev\.countersign\.[a-z]+(_[a-z]+)*$/)]);
    expect(body.evaluations?.map(({ decision }) => decision)).toEqual([true, false, false]);
  });

  it('reloads its policies and its decision log when told to, and keeps running', async () => {
    const before = await patiently(health);
    expect(existsSync(decisions)).toBe(true);
    renameSync(decisions, `${decisions}.1`);
    policies.replace('a.cedar', permitting('c'));
    pdp.kill('SIGHUP');
    await patiently(async () => existsSync(decisions) && (await health()).policy_version !== before.policy_version);
    expect(readFileSync(`${decisions}.1`, 'utf8')).not.toBe('');
    expect([pdp.exitCode, pdp.signalCode]).toEqual([null, null]);
  });
});
