import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import { aPdpClient } from '../support/authority-clients.ts';
import { startScriptedPdp, type ScriptedPdp } from '../support/scripted-pdp.ts';

const BATCH = '/access/v1/evaluations';
const SINGLE = '/access/v1/evaluation';
const question = (id: string): EvaluationRequest => ({
  subject: { type: 'identity', id: 'alice' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id },
  context: {},
});
const BOTH = [question('bank__transfer'), question('bank__balance')];
const unavailable = { name: 'CountersignError', code: 'ERR_PDP_UNAVAILABLE' };

let server: ScriptedPdp;
const client = () => aPdpClient(server.url, { metadata: 'ignored' });

beforeAll(async () => {
  server = await startScriptedPdp();
});
afterAll(() => server.close());
beforeEach(() => server.reset());

describe('a batch of questions', () => {
  it('goes to the batch endpoint at once, each question complete, and is answered in order [COAZ-EN-05, AZ-BX-05, AZ-BX-16]', async () => {
    const evaluations = [{ decision: true }, { decision: false, context: { reason: 'no' } }];
    server.says(BATCH, { body: { decision: true, evaluations } });
    expect(await client().evaluateAll(BOTH)).toEqual([{ kind: 'allow' }, { kind: 'deny', reason: 'no' }]);
    expect(server.askedAt(BATCH).map(({ body }) => body)).toEqual([
      { evaluations: BOTH, options: { evaluations_semantic: 'execute_all' } },
    ]);
    expect(server.askedAt(SINGLE)).toEqual([]);
  });

  it.each([400, 404, 405, 501])(
    'is sent one by one where the batch is answered with %i [COAZ-EN-07]',
    async (status) => {
      server.says(BATCH, { status, body: { decision: true } });
      server.says(SINGLE, ({ body }) => ({
        body: { decision: (body as EvaluationRequest).resource.id === 'bank__balance' },
      }));
      expect(await client().evaluateAll(BOTH)).toEqual([{ kind: 'deny' }, { kind: 'allow' }]);
    },
  );

  it.each([
    ['fewer', [{ decision: true }]],
    ['more', [{ decision: true }, { decision: true }, { decision: true }]],
    ['other things than', [{ decision: true }, { decision: 'true' }]],
    ['no', undefined],
  ])('that gets %s decisions has no answer [COAZ-EN-08]', async (_case, evaluations) => {
    server.says(BATCH, { body: { decision: true, evaluations } });
    await expect(client().evaluateAll(BOTH)).rejects.toMatchObject(unavailable);
  });

  it('without a question has no answer', async () => {
    server.says(BATCH, { body: { evaluations: [] } });
    await expect(client().evaluateAll([])).rejects.toMatchObject(unavailable);
    expect(server.asked).toEqual([]);
  });
});
