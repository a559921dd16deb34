import { Client, Connection } from '@temporalio/client';
import pino from 'pino';
import { createSteps } from '../../apps/approvals/pace.ts';
import { createConsult } from '../../apps/approvals/resolvers/consult.ts';
import { EMPTY_DIRECTORY } from '../../apps/shared/directory/directory.ts';
import { createAccessRequestStore } from '../../apps/approvals/stores/access-request.store.ts';
import { stopAll, type Running } from '../../apps/shared/lifecycle.ts';
import { createAccessRequestWorkflows } from '../../apps/shared/temporal/access-request-workflows.ts';
import { startPatientWorker } from '../../apps/shared/temporal/patient-worker.ts';
import { accessRequestWorkflowId } from '../../workflows/ids.ts';
import { newAccessRequest } from './access-requests.ts';
import { askedAgain } from './asked-again.ts';
import { createTestDatabase } from './database.ts';
import { testTemporal } from './temporal.ts';
import { systemTime } from './time.ts';

/** A resolver that approves whatever it is asked about. */
export const AGREEING_RESOLVER = 'agreeing';

/** Access requests in a real database beside their workflows on a real engine, and nobody else who carries out a deadline. */
export async function startPacedRequests() {
  const { address, namespace, taskQueue } = await testTemporal();
  const db = await createTestDatabase();
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  const log = pino({ enabled: false });
  const workflows = createAccessRequestWorkflows(client, { taskQueue, ...systemTime });
  const store = createAccessRequestStore(db.pool);
  const temporal = { address, namespace, taskQueue, approvalsTaskQueue: taskQueue, tls: false };
  const consult = createConsult({
    store,
    resolvers: new Map([[AGREEING_RESOLVER, async () => ({ verdict: 'approve', reason: undefined }) as const]]),
    people: () => EMPTY_DIRECTORY,
    log,
  });
  const options = {
    ...{ client, temporal, taskQueue, log },
    activities: createSteps({ store, consult }),
    graceMs: 1_000,
  };
  let worker: Running | undefined = startPatientWorker({ ...options, ...systemTime });
  const rows = async (text: string, id: string) => (await db.pool.query(text, [id])).rows;
  const handle = (id: string, runId?: string) => client.workflow.getHandle(accessRequestWorkflowId(id), runId);
  return {
    ...{ db, client, store, handle, temporal, consult },
    workflows: { ...workflows, wake: askedAgain(workflows.wake), rouse: askedAgain(workflows.rouse) },
    /** An open request that has no workflow yet. */
    async open(changes: Parameters<typeof newAccessRequest>[0]) {
      const request = newAccessRequest(changes);
      await store.create(request);
      return request;
    },
    notices: (id: string) =>
      rows('SELECT event, stage, number FROM approvals.notice WHERE access_request_id = $1 ORDER BY id', id),
    outbox: async (id: string) =>
      (await rows('SELECT kind FROM approvals.outbox WHERE subject_id = $1 ORDER BY id', id)).map(({ kind }) => kind),
    /** Whether its workflow has looked at the row and waits now for what is next. */
    async waits(id: string): Promise<boolean> {
      const { events } = await handle(id).fetchHistory();
      return events?.some((event) => event.timerStartedEventAttributes) === true;
    },
    /** Kills the worker, and answers how to start another. */
    async withoutWorker<T>(use: () => Promise<T>): Promise<T> {
      await worker?.stop();
      worker = undefined;
      const answer = await use();
      worker = startPatientWorker({ ...options, ...systemTime });
      return answer;
    },
    stop: () =>
      stopAll([
        { name: 'database', stop: () => db.drop() },
        { name: 'connection', stop: () => connection.close() },
        ...(worker === undefined ? [] : [worker]),
      ]),
  };
}
