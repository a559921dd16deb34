import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AUTHORIZATION, metaOf, textOf } from '../../support/gateway-wire.ts';
import {
  accepted,
  answering,
  FIELDS,
  questionIn,
  schemaOf,
  startAskingGateway,
  TASKS,
  taskOf,
  type CallOptions,
} from '../../support/input-calls.ts';

const INVALID_STATE = {
  code: -32_602,
  message: 'Invalid or expired requestState',
  data: { reason: 'invalid_request_state' },
};

let asking: Awaited<ReturnType<typeof startAskingGateway>>;
let real: typeof asking.real;
beforeAll(async () => {
  asking = await startAskingGateway();
  real = asking.real;
});
afterAll(() => real.stop());
beforeEach(() => asking.reset());

describe('a state', () => {
  const asked = async (args: object) => questionIn(await asking.call(args));
  const refused = async (args: object, options: CallOptions) => {
    const before = await asking.traces();
    const { status, body } = await asking.call(args, options);
    expect([status, body.error]).toEqual([200, INVALID_STATE]);
    expect(await asking.traces()).toEqual(before);
  };

  it('for another call, tool or caller is refused, and stays usable for its own [MRTR-011, MRTR-045, AT-5]', async () => {
    const args = asking.newArguments();
    const answer = answering(await asked(args), accepted());
    await refused({ ...args, more: 1 }, answer);
    await refused(args, { ...answer, name: 'files__refuse' });
    for (const claims of [{ sub: 'mallory' }, { client_id: 'agent-8' }]) {
      await refused(args, { ...answer, token: await real.authority.token({ aud: real.mcpUrl, ...claims }) });
    }
    expect(taskOf(await asking.call(args, answer))).toMatch(/^tsk_/);
  });

  it('that was altered, cut, made elsewhere or invented is refused [MRTR-006]', async () => {
    const args = asking.newArguments();
    const { key, requestState } = await asked(args);
    const parts = requestState.split('.');
    const flipped = parts.map((part, at) => {
      const byte = part[3] === 'A' ? 'B' : 'A';
      return parts.with(at, part.slice(0, 3) + byte + part.slice(4)).join('.');
    });
    const made = [requestState.slice(0, -4), '', 'x', '....', 'e30.e30.e30.e30.e30', 'x'.repeat(10_000), ...flipped];
    for (const state of made) {
      if (state === requestState) continue;
      await refused(args, answering({ key, requestState: state }, accepted()));
    }
    await refused(args, { more: { requestState: 5 } });
  });

  it('reveals no content to its holder', async () => {
    const { requestState } = await asked({ amount: 'canary-amount' });
    const readable = requestState.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
    expect(readable.join('\n')).not.toMatch(/alice|canary|files__/);
  });

  it('that is more than ten minutes old is refused', async () => {
    const args = asking.newArguments();
    const question = await asked(args);
    real.clock.aheadMs = 601_000;
    try {
      await refused(args, answering(question, accepted()));
    } finally {
      real.clock.aheadMs = 0;
    }
    expect(taskOf(await asking.call(args, answering(question, accepted())))).toMatch(/^tsk_/);
  });
});

it('a client that shows forms and cannot hold a task is asked, too: its call waits afterwards', async () => {
  const { result } = (await asking.call(asking.newArguments(), { capabilities: { elicitation: {} } })).body;
  expect(result).toMatchObject({ resultType: 'input_required' });
});

describe('a client that cannot show a form', () => {
  it.each([
    ['nothing', TASKS],
    ['only addresses', { ...TASKS, elicitation: { url: {} } }],
  ])('and declares %s is told what to do, and gets no question [MRTR-005]', async (_case, capabilities) => {
    const before = await asking.traces();
    const { result } = (await asking.call(asking.newArguments(), { capabilities })).body;
    expect(result).toMatchObject({ resultType: 'complete', isError: true });
    expect(textOf(result)).toMatch(/did not run.*elicitation/s);
    expect(metaOf(result)[AUTHORIZATION]).toEqual({ reason: 'insufficient_authorization', remediation: 'undisclosed' });
    expect(await asking.traces()).toEqual(before);
  });

  it('gets its task when no input is required, and counts as able when it names no mode', async () => {
    asking.needs(schemaOf(FIELDS, []));
    expect(taskOf(await asking.call(asking.newArguments(), { capabilities: TASKS }))).toMatch(/^tsk_/);
    expect(
      (await asking.call(asking.newArguments(), { capabilities: { ...TASKS, elicitation: {} } })).body.result,
    ).toMatchObject({
      resultType: 'input_required',
    });
  });
});

describe('a denial with an unusable schema', () => {
  it.each<[string, () => void]>([
    ['does not exist', () => asking.needs({}, 404)],
    ['asks for a secret', () => asking.needs(schemaOf({ password: { type: 'string' } }))],
    ['has no form', () => asking.needs(schemaOf({ a: { $ref: '#' } }))],
    ['is on another host', () => asking.offers('http://127.0.0.1:1/canary')],
  ])('is final because the schema %s', async (_case, given) => {
    given();
    const before = await asking.traces();
    const { result } = (await asking.call(asking.newArguments())).body;
    expect(metaOf(result)[AUTHORIZATION]).toEqual({ reason: 'insufficient_authorization', remediation: 'unavailable' });
    expect(await asking.traces()).toEqual(before);
  });

  it('is a temporary error while the service does not answer', async () => {
    asking.needs({}, 503);
    const { body } = await asking.call(asking.newArguments());
    expect(body.error).toMatchObject({ code: -32_603, message: expect.stringMatching(/did not run.*repeated later/) });
  });
});
