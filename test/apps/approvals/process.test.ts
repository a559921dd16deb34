import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { loadDevelopmentSecrets } from '../../../apps/shared/config/development-secrets.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import type { HttpServer } from '../../../apps/shared/http/listen.ts';
import { aStage, newAccessRequest } from '../../support/access-requests.ts';
import { killHard } from '../../support/child.ts';
import { onFreePorts } from '../../support/config.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { RuleEngine } from '../../support/rule-engine.ts';
import { serve } from '../../support/serve.ts';
import { PATIENT_FACTOR } from '../../support/time.ts';
import { patiently, waitFor } from '../../support/wait-for.ts';

const SECRET = `whsec_${Buffer.from('a secret of those who are told').toString('base64')}`;

/** The process that an operator starts, with an environment that names no engine. */
describe('the access request service as a process, without TEMPORAL_ADDRESS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-approvals-process-'));
  const stateDir = join(folder, 'state');
  const engine = new RuleEngine();
  const told: { type: string; data: { id: string } }[] = [];
  let receiver: HttpServer;
  let database: TestDatabase;
  let url: string;
  let token: string;
  let service: ChildProcess;

  const start = () =>
    spawn(process.execPath, [packagePath('dist', 'apps', 'approvals', 'main.js')], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { PATH: process.env['PATH'], DATABASE_URL: database.url, COUNTERSIGN_STATE: stateDir },
    });
  beforeAll(async () => {
    database = await createTestDatabase();
    await engine.start();
    receiver = await serve((request, response) => {
      void text(request).then((body) => {
        told.push(JSON.parse(body));
        response.writeHead(204).end();
      });
    });
    const ports = await onFreePorts();
    const notifications = { url: `${receiver.url}/told`, secret: SECRET, networks: ['127.0.0.0/8'] };
    const resolvers = { risk: engine.setting('risk', { timeoutSeconds: 60 }) };
    const approvals = { ...ports.approvals, resolvers, notifications };
    const config = { ...ports, approvals, timeLimitFactor: PATIENT_FACTOR };
    writeFileSync(join(folder, 'countersign.yaml'), stringify(config));
    url = `http://127.0.0.1:${ports.approvals.port}`;
    token = (await loadDevelopmentSecrets(stateDir)).secrets.accessRequestToken;
    service = start();
  });
  afterAll(async () => {
    if (service.exitCode === null && service.signalCode === null) {
      const gone = once(service, 'exit');
      service.kill('SIGTERM');
      expect(await gone).toEqual([0, null]);
    }
    await receiver.close();
    await engine.stop();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  const open = async (...stages: Parameters<typeof aStage>[0][]) => {
    const request = newAccessRequest({ isNotified: true, stages: stages.map((stage) => aStage(stage)) });
    await createAccessRequestStore(database.pool).create(request);
    return request.id;
  };
  const statusOf = async (id: string): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${url}/access/v1/requests/${id}`, { headers });
    return ((await answer.json()) as { task: { status: string } }).task.status;
  };
  const events = (id: string) => told.filter(({ data }) => data.id === id).map(({ type }) => type);

  it('starts, serves, reminds, escalates, ends stages and asks resolvers', async () => {
    engine.replies['risk'] = { verdict: 'approve' };
    await patiently(async () => (await fetch(`${url}/healthz`)).ok);
    const reminded = await open({ remindAfterSeconds: [1] });
    const escalated = await open(
      { name: 'owner', withinSeconds: 1, then: 'escalate' },
      { name: 'risk', automatic: 'risk', onlyOnEscalation: true },
    );
    const ended = await open({ withinSeconds: 1 });
    await waitFor(() => events(reminded).includes('access_request.reminder'));
    await waitFor(async () => (await statusOf(escalated)) === 'approved');
    await waitFor(() => events(escalated).includes('access_request.escalated'));
    await waitFor(() => events(ended).includes('access_request.ended'));
    expect([await statusOf(reminded), await statusOf(ended)]).toEqual(['pending', 'denied']);
    expect(engine.asked(escalated).map(({ data }) => data.stage.position)).toEqual([2]);
  });

  it('repeats a question in the same words after a kill, and counts one answer', async () => {
    engine.replies['risk'] = () => undefined;
    const id = await open({ automatic: 'risk' });
    await waitFor(() => engine.asked(id).length === 1);
    await killHard(service);
    engine.replies['risk'] = { verdict: 'approve' };
    // Ends the rest of the lease.
    await database.pool.query('UPDATE approvals.question_outbox SET available_at = clock_timestamp()');
    service = start();
    await patiently(async () => (await statusOf(id)) === 'approved');
    const [first, ...more] = engine.asked(id);
    expect(more).toHaveLength(1);
    expect(more[0]?.body).toBe(first?.body);
    expect(more[0]?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    const { rows } = await database.pool.query(
      'SELECT verdict, outcome FROM approvals.resolver_answer WHERE access_request_id = $1',
      [id],
    );
    expect(rows).toEqual([{ verdict: 'approve', outcome: 'counted' }]);
  });
});
