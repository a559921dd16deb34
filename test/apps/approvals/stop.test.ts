import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../../apps/shared/embedded/process-tools.ts';
import type { HttpServer } from '../../../apps/shared/http/listen.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import { RuleEngine } from '../../support/rule-engine.ts';
import { serve } from '../../support/serve.ts';
import { waitFor } from '../../support/wait-for.ts';

const SECRET = `whsec_${Buffer.from('a secret of those who are told').toString('base64')}`;
const templates = { beside: { stages: [{ name: 'risk', approvers: { roles: ['approver'] }, automatic: 'silent' }] } };

describe('the access request service when it stops', () => {
  const service = new ApprovalsUnderTest();
  const engine = new RuleEngine();
  let receiver: HttpServer;
  let letReceiverFail: (() => void) | undefined;
  beforeAll(async () => {
    await engine.start();
    engine.replies['silent'] = () => undefined;
    const port = await freePort();
    receiver = await serve((_request, response) => {
      letReceiverFail = () => response.writeHead(500).end();
    }, port);
    const resolvers = { silent: engine.setting('silent', { timeoutSeconds: 60 }) };
    const notifications = { url: `http://127.0.0.1:${port}`, secret: SECRET, networks: ['127.0.0.0/8'] };
    await service.start({ approvals: { templates, resolvers, notifications } });
  });
  afterAll(async () => {
    await service.stop();
    await receiver.close();
    await engine.stop();
  });

  it('gives up open questions before it waits for receivers of messages', async () => {
    const { id } = await service.open({ claims: { template: 'beside' } });
    await waitFor(() => engine.asked(id).length === 1 && letReceiverFail !== undefined);
    const stopped = service.pause();
    const givenUp = (kind: string) =>
      service.log
        .split('\n')
        .findIndex((line) => line.includes('a row could not be handled') && line.includes(`"kind":"${kind}"`));
    await waitFor(() => givenUp('question') >= 0);
    letReceiverFail?.();
    await stopped;
    expect(givenUp('webhook')).toBeGreaterThan(givenUp('question'));
    const { rows } = await service.database.pool.query(
      "SELECT available_at < clock_timestamp() + interval '30 s' AS soon FROM approvals.question_outbox",
    );
    expect(rows).toEqual([{ soon: true }]);
  });
});
