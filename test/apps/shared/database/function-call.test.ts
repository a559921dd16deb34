import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { functionCall } from '../../../../apps/shared/database/function-call.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  const body = `SELECT concat_ws('|', p_one, p_many[1], coalesce(p_none, 'none'))`;
  await db.pool.query(
    `CREATE FUNCTION joined(p_one int, p_many text[], p_none text) RETURNS text LANGUAGE sql AS $$ ${body} $$`,
  );
});
afterAll(() => db.drop());

const answer = async (parameters: Record<string, unknown>) => {
  const { text, values } = functionCall('joined', parameters);
  return (await db.pool.query<{ answer: string }>(`SELECT ${text} AS answer`, values)).rows[0]?.answer;
};
const UNDEFINED_FUNCTION = { code: '42883' };

describe('a call of a database function', () => {
  it('passes each parameter by name, in any order, and undefined as NULL', async () => {
    expect(await answer({ many: ['a', 'b'], none: undefined, one: 1 })).toBe('1|a|none');
  });

  it('is refused with a parameter that the function does not have', async () => {
    await expect(answer({ many: [], none: null, one: 1, other: 2 })).rejects.toMatchObject(UNDEFINED_FUNCTION);
    await expect(answer({ many: [], nun: null, one: 1 })).rejects.toMatchObject(UNDEFINED_FUNCTION);
  });

  it('is refused without a parameter that the function has', async () => {
    await expect(answer({ many: [], one: 1 })).rejects.toMatchObject(UNDEFINED_FUNCTION);
  });
});

it('a bundle refuses an item with an unknown member', async () => {
  const { text, values } = functionCall('approvals.create_bundle', {
    id: 'bundle',
    client_id: 'client',
    submitted_by: 'client',
    idempotency_key: 'key',
    body_digest: 'digest',
    callback_endpoint: null,
    callback_state: null,
    callback_events: null,
    items: JSON.stringify([{ id: 'item', position: 1, digest: 'for body_digest' }]),
  });
  await expect(db.pool.query(`SELECT ${text}`, values)).rejects.toMatchObject({ code: '22023' });
});
