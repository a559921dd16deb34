import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { REQUESTABLE, startRealGateway } from '../support/real-gateway.ts';
import { runFuzz } from './run-fuzz.ts';
import { openSessions } from './sessions.ts';

const REQUESTS = 400;
const DECISIONS = { files__hang: { decision: false }, files__die: REQUESTABLE } as Readonly<Record<string, object>>;

let gateway!: Awaited<ReturnType<typeof startRealGateway>>;
beforeAll(async () => {
  gateway = await startRealGateway({ maxCallsPerSecond: 100_000, maxPollsPerSecond: 100_000 });
  gateway.reset();
  gateway.authority.decide = () => {
    const { resource } = JSON.parse(gateway.authority.seen.at(-1)?.body ?? '') as { resource: { id: string } };
    return DECISIONS[resource.id] ?? { decision: true };
  };
});
afterAll(() => gateway?.stop());

it(`answers random requests without a fault of the server or internal details (${REQUESTS})`, async () => {
  const call = (name: string) => ({ name, arguments: { a: 1 } });
  const { body } = await gateway.send('tools/call', call('files__die'));
  const bearer = async (claims: object) =>
    `Bearer ${await gateway.authority.token({ aud: gateway.mcpUrl, ...claims })}`;
  const good = [await bearer({}), await bearer({ sub: 'bob' })];
  const target = {
    mcpUrl: gateway.mcpUrl,
    known: {
      calls: ['files__pid', 'files__odd', 'files__refuse', 'files__hang', 'files__die', 'files__none'].map(call),
      taskIds: [String(body.result?.['taskId'])],
      good,
      sessions: await openSessions(gateway.mcpUrl, good),
      bad: ['', 'Bearer canary', await bearer({ exp: 1 }), await bearer({ aud: 'other' }), await bearer({ scope: '' })],
    },
    isRunning: () => true,
    revive: async () => undefined,
  };
  const { sent, answers, fault } = await runFuzz(target, { requests: REQUESTS, seed: 11 });
  expect(fault).toBeUndefined();
  expect(sent).toBeGreaterThanOrEqual(REQUESTS);
  // Requests that the door refuses would prove nothing.
  for (const kind of ['200 complete', '200 task', '200 -32602', '400 -32020', '200 stream', '404 -32001'])
    expect(answers[kind]).toBeGreaterThan(1);
});
