import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { SCHEMA_PATH } from './authority-stub.ts';
import { send, type Sent, type SendOptions } from './gateway-wire.ts';
import { REQUESTABLE, startRealGateway } from './real-gateway.ts';

export const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
export const WHY = 'Quarterly settlement, invoice batch 88';

/** The schema of a request that requires these values. */
export const schemaOf = (properties: JsonObject, required: string[] = Object.keys(properties)) => ({
  type: 'object',
  required: ['context'],
  properties: {
    context: {
      type: 'object',
      required: ['requester_input'],
      properties: { requester_input: { type: 'object', properties, required } },
    },
  },
});
export const FIELDS = {
  justification: { type: 'string', minLength: 10, maxLength: 500 },
  urgent: { type: 'boolean' },
};
export const ASKED = schemaOf(FIELDS, ['justification']);

export interface CallOptions extends SendOptions {
  readonly name?: string;
  /** Members of the request. */
  readonly more?: Record<string, unknown>;
}

/** A gateway with its real parts, every call of which needs an approval, and input for the request. */
export async function startAskingGateway() {
  const real = await startRealGateway({ maxOpenPerCaller: 1_000, maxSubmissionsPerMinute: 1_000 });
  let schemas = 0;
  let calls = 0;
  const offers = (request_schema_url: string) => {
    const { context } = REQUESTABLE;
    const access_request = { ...context.access_request, request_schema_url };
    real.authority.decide = () => ({ ...REQUESTABLE, context: { ...context, access_request } });
  };
  const needs = (body: object, status = 200) => {
    real.authority.schema = () => ({ status, body });
    // The gateway caches a parsed schema by its address.
    offers(`${real.authority.url}${SCHEMA_PATH}?${(schemas += 1)}`);
  };
  const rows = async () => (await real.database.pool.query('SELECT FROM gateway.gated_call')).rowCount ?? 0;
  return {
    real,
    /** Denials name a schema at this address. */
    offers,
    /** Requests need the values in this schema. */
    needs,
    reset(): void {
      real.reset();
      needs(ASKED);
    },
    /** Of a new call. */
    newArguments: () => ({ n: (calls += 1) }),
    /** By a client that can show forms and hold tasks, by default. */
    async call(args: object, { name = 'files__pid', more, ...options }: CallOptions = {}): Promise<Sent> {
      const token = options.token ?? (await real.authority.token({ aud: real.mcpUrl }));
      const capabilities = { ...TASKS, elicitation: { form: {} } };
      const params = { name, arguments: args, ...more };
      const answer = await send(real, 'tools/call', params, { capabilities, ...options, token });
      real.received.push(answer.text);
      return answer;
    },
    /** The number of opened calls, and of submitted requests since the test began. */
    traces: async () => [await rows(), real.authority.submissions().length],
  };
}

/** The only question of an answer. */
export function questionIn({ body }: Sent) {
  const requests = (body.result?.['inputRequests'] ?? {}) as Record<
    string,
    { method: string; params: Record<string, unknown> }
  >;
  const [[key = '', request] = []] = Object.entries(requests);
  return { key, request, requestState: body.result?.['requestState'] as string };
}

/** The repetition of a call with the answer to a question. */
export const answering = ({ key, requestState }: { key: string; requestState: string }, response: unknown) => ({
  more: { inputResponses: { [key]: response }, requestState },
});
export const accepted = (content: object = { justification: WHY }) => ({ action: 'accept', content });
export const taskOf = ({ body }: Sent) => body.result?.['taskId'];
