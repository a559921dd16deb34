import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aForm } from '../support/asked-calls.ts';
import { GatewayUnderTest } from '../support/gateway.ts';
import { aView, TASK_ID } from '../support/gateway-world.ts';
import { requestOf } from '../support/gateway-wire.ts';
import { TASKS } from '../support/input-calls.ts';
import { served } from './served.ts';

const gateway = new GatewayUnderTest();
beforeAll(() => gateway.start());
afterAll(() => gateway.stop());
beforeEach(() => {
  const questions = [{ key: 'input-1-key', form: aForm('ticket') }];
  gateway.reset();
  gateway.world.view = aView({ state: 'input_required', questions });
});

const to = (method: string, params: object, capabilities: object = TASKS) =>
  served(gateway.mcpUrl, requestOf(method, { taskId: TASK_ID, ...params }, { capabilities }));

describe('task that waits for input', () => {
  it('questions', async () => {
    expect(await to('tasks/get', {}, { ...TASKS, elicitation: {} })).toMatchSnapshot();
  });

  it('error for a client that cannot be asked', async () => {
    expect(await to('tasks/get', {})).toMatchSnapshot();
  });

  it('acknowledgement of an answer that does not fit', async () => {
    const inputResponses = { 'input-1-key': { action: 'accept', content: { ticket: '' } } };
    expect(await to('tasks/update', { inputResponses })).toMatchSnapshot();
    expect([gateway.world.answered, gateway.world.refused.length]).toEqual([[], 1]);
  });

  it('question that is asked again', async () => {
    const again = { why: 'misfit', fields: ['ticket'] } as const;
    const questions = [{ key: 'input-again-key', form: aForm('ticket'), again }];
    gateway.world.view = aView({ state: 'input_required', questions });
    expect(await to('tasks/get', {}, { ...TASKS, elicitation: {} })).toMatchSnapshot();
  });
});
