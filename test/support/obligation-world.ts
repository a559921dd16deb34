import type { Limits } from '../../apps/shared/limits.ts';
import { text } from 'node:stream/consumers';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { createObligingPdp, type ObligingPdpOptions } from '../../activities/obligations/oblige.ts';
import { TEST_SEALS } from './gated-calls.ts';
import { pdpClientOptions } from './authority-clients.ts';
import { serve } from './serve.ts';
import { systemTime } from './time.ts';

/** An obligation that arrived, its signature checked. */
export interface Arrived {
  readonly path: string;
  readonly webhookId: string;
  readonly body: {
    evaluation_id?: string;
    decision: boolean;
    obligation: { id: string; type: string; properties: object };
  };
}

/** A receiver of obligations. It gives the answer in `answer`; by default each obligation is met. */
export async function aReceiver() {
  const secret = `whsec_${Buffer.from('a secret of a receiver').toString('base64')}`;
  const webhook = new Webhook(secret);
  const receiver = {
    url: '',
    secret,
    arrived: [] as Arrived[],
    answer: (_arrived: Arrived): number | Promise<number> => 204,
    /** One of the receivers of the configuration. */
    at: (path: string) => ({ url: `${receiver.url}/${path}`, secret }),
    reset(): void {
      receiver.arrived.length = 0;
      receiver.answer = () => 204;
    },
    close: () => server.close(),
  };
  const server = await serve((request, response) => {
    void text(request).then(async (body) => {
      // Throws for a bad signature, so that no answer is sent.
      webhook.verify(body, request.headers as Record<string, string>);
      const webhookId = String(request.headers['webhook-id']);
      const one = { path: request.url ?? '', webhookId, body: JSON.parse(body) as Arrived['body'] };
      receiver.arrived.push(one);
      response.writeHead(await receiver.answer(one), { location: '/elsewhere' }).end();
    });
  });
  receiver.url = server.url;
  return receiver;
}

export type Receiver = Awaited<ReturnType<typeof aReceiver>>;

/** The settings of a deployment in which this is the only receiver. */
export const receiversAt = (receiver: Receiver): ObligingPdpOptions['obligations'] => ({
  notification: { 'treasury-audit': receiver.at('audit'), security: receiver.at('security') },
  custom: receiver.at('custom'),
  acrLevels: [],
  maxPerMinute: 1_000,
});

/**
 * The policy decision point as gateway and worker have it, before a stub whose answer a test sets, with the receivers
 * beside it.
 */
export async function obligingPdp(
  pool: Pool,
  changes: Partial<ObligingPdpOptions['obligations']> = {},
  limits: Limits = systemTime.limits,
) {
  const receiver = await aReceiver();
  const lines: Record<string, unknown>[] = [];
  const world = { says: undefined as unknown, asked: [] as unknown[] };
  const server = await serve((request, response) => {
    void text(request).then((body) => {
      world.asked.push(JSON.parse(body));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(world.says));
    });
  });
  const parts = createObligingPdp({
    ...{ ...systemTime, limits },
    ...pdpClientOptions(server.url, {
      ...{ metadata: 'ignored', accessRequestsUrl: 'https://approvals.test/access/v1/requests' },
      log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }),
    }),
    ...{ pool, seals: TEST_SEALS, obligations: { ...receiversAt(receiver), ...changes } },
  });
  return {
    ...parts,
    receiver,
    lines,
    world,
    async close() {
      await server.close();
      await receiver.close();
    },
  };
}
