import { pino } from 'pino';
import { createRequestForms } from '../../activities/clients/access-requests/forms.ts';
import { SCHEMA_PATH } from './authority-stub.ts';
import { anApproval, gatedCallFixture } from './gated-calls.ts';
import { send } from './gateway-wire.ts';
import { accepted, startAskingGateway, TASKS, taskOf } from './input-calls.ts';
import { stepsIn, TOOL } from './steps.ts';
import { systemTime } from './time.ts';

export const FORMS = { ...TASKS, elicitation: { form: {} } };
export const TICKET = { type: 'string', minLength: 3, maxLength: 64, title: 'Change ticket' };
/** The values that a further request needs: each object is one question. */
const FURTHER = {
  type: 'object',
  title: 'Second signature',
  properties: {
    context: {
      type: 'object',
      properties: {
        change: { type: 'object', required: ['ticket'], properties: { ticket: TICKET } },
        window: { type: 'object', required: ['night'], properties: { night: { type: 'boolean' } } },
      },
    },
  },
};
export const GIVEN = { ticket: accepted({ ticket: 'CHG-1' }), night: accepted({ night: true }) };

/**
 * A gateway with its real parts, and a worker's steps on its calls. The policy requires another approval for each call.
 */
export async function startGatewayThatAsks() {
  const asking = await startAskingGateway();
  const { real } = asking;
  const { lifecycle } = gatedCallFixture(real.database.pool);

  const tokenOf = (claims: object = {}) => real.authority.token({ aud: real.mcpUrl, ...claims });
  async function ask(
    method: string,
    params: Record<string, unknown>,
    options: { capabilities?: object; token?: string } = {},
  ) {
    return send(real, method, params, { capabilities: FORMS, token: await tokenOf(), ...options });
  }
  const get = async (taskId: string) => (await ask('tasks/get', { taskId })).body.result;

  async function rowOf(taskId: string) {
    const text = 'SELECT id, state, reason FROM gateway.gated_call WHERE task_id = $1';
    const { rows } = await real.database.pool.query<{ id: string; state: string; reason: string | null }>(text, [
      taskId,
    ]);
    if (rows[0] === undefined) throw new Error('no such task');
    return rows[0];
  }

  /** A worker's next step with this call. Answers what it submitted. */
  async function step(taskId: string) {
    const { id } = await rowOf(taskId);
    const { toolDigest: digest } = (await lifecycle.load(id)).binding;
    real.authority.schema = () => ({ status: 200, body: FURTHER });
    const requestSchemaUrl = `${real.authority.url}${SCHEMA_PATH}?further=${taskId}`;
    const steps = stepsIn(
      {
        handle: { accessRequestId: `arq_${taskId}`, statusEndpoint: 'http://127.0.0.1:1/second' },
        tool: { ...TOOL, digest },
        status: { kind: 'granted', approval: anApproval() },
        decision: {
          kind: 'requestable',
          offer: { endpoint: 'https://ars.test/requests', expiresAt: '2999-01-01T00:00:00Z', requestSchemaUrl },
        },
        requestForms: createRequestForms(pino({ level: 'silent' }), systemTime),
      },
      lifecycle,
    );
    await steps.toTheClaim({ gatedCallId: id });
    return steps.submitted;
  }

  return {
    ...{ asking, real, tokenOf, ask, get, rowOf, step },
    update: (taskId: string, inputResponses: unknown, options = {}) =>
      ask('tasks/update', { taskId, inputResponses }, options),
    /** The events of the call, its questions and its answers. */
    async traceOf(taskId: string) {
      const { id } = await rowOf(taskId);
      const text = `SELECT (SELECT to_jsonb(array_agg(e ORDER BY seq)) FROM gateway.call_event e WHERE gated_call_id = $1) AS events,
        (SELECT to_jsonb(array_agg(q ORDER BY key)) FROM gateway.question q WHERE gated_call_id = $1) AS questions`;
      return (await real.database.pool.query(text, [id])).rows;
    },
    /** The task of a call that waits for input, and the keys of its questions. */
    async waiting(args = asking.newArguments()) {
      const taskId = String(taskOf(await asking.call(args)));
      await step(taskId);
      const requests = ((await get(taskId))?.['inputRequests'] ?? {}) as Record<
        string,
        { params: { requestedSchema: { properties: object } } }
      >;
      const keyOf = (field: string) =>
        Object.keys(requests).find((key) => field in (requests[key]?.params.requestedSchema.properties ?? {})) ?? '';
      return { taskId, args, ticket: keyOf('ticket'), night: keyOf('night') };
    },
  };
}
