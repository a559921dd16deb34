import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { obligingPdp } from './obligation-world.ts';

/** The question to the policy decision point. */
export const QUESTION: EvaluationRequest = {
  subject: { type: 'identity', id: 'alice' },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: 'bank__transfer' },
  context: { arguments: { amount: 5 } },
};

/** The answer to a permit whose obligations are not met. */
export const REFUSED = { kind: 'deny', unmet: {} };

export const notify = (id: string, properties: object = {}) => ({
  id,
  type: 'notification',
  properties: { to: 'treasury-audit', topic: 'transfer', body: 'a transfer', ...properties },
});

export const stepUp = (id: string, properties: object = { acr_value: 'loa:3' }) => ({
  id,
  type: 'step-up',
  properties,
});

export const permit = (obligations: unknown, evaluation_id: string = randomUUID()) => ({
  decision: true,
  context: { evaluation_id, obligations },
});

/**
 * Gives the tests of a file a policy decision point with obligations, and its receivers, over their own database. Call
 * it outside of any test; the result is filled in before the first one.
 */
export function ownObligations() {
  const own = {} as { db: TestDatabase; oblige: Awaited<ReturnType<typeof obligingPdp>> };
  beforeAll(async () => {
    own.db = await createTestDatabase();
    own.oblige = await obligingPdp(own.db.pool);
  });
  afterAll(async () => {
    await own.oblige?.close();
    await own.db?.drop();
  });
  beforeEach(() => own.oblige.receiver.reset());
  return Object.assign(own, {
    /** The enforcement point's reading of this answer, for a caller with these claims. */
    evaluate(says: unknown, claims: JsonObject = {}) {
      own.oblige.world.says = says;
      return own.oblige.pdp.evaluate(QUESTION, undefined, claims);
    },
    /** Ids of the obligations that arrived. */
    arrived: () => own.oblige.receiver.arrived.map(({ body }) => body.obligation.id).sort(),
  });
}
