import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aTransfer, startTestPdp } from '../../support/pdp.ts';

let pdp: Awaited<ReturnType<typeof startTestPdp>>;
beforeAll(async () => void (pdp = await startTestPdp()));
afterAll(() => pdp.stop());

const request = aTransfer({ amount: 10 });
const without = (entity: object, member: string) =>
  Object.fromEntries(Object.entries(entity).filter(([name]) => name !== member));

it.each([
  ['subject', 'type'],
  ['subject', 'id'],
  ['resource', 'type'],
  ['resource', 'id'],
  ['action', 'name'],
] as const)('a %s without a %s that is a text is refused [AZ-IM-01, AZ-IM-02, AZ-IM-03]', async (part, member) => {
  const changed = async (entity: object) => {
    const { status, text } = await pdp.post({ ...request, [part]: entity });
    return [status, text];
  };
  const entity = request[part];
  expect(await changed(entity)).toEqual([200, '{"decision":true}']);
  expect(await changed(without(entity, member))).toEqual([400, `${part}.${member} is missing`]);
  expect(await changed({ ...entity, [member]: null })).toEqual([400, `${part}.${member} is missing`]);
  for (const odd of [7, true, ['x'], { x: 1 }]) {
    expect(await changed({ ...entity, [member]: odd })).toEqual([400, `${part}.${member} is not of type string`]);
  }
});
