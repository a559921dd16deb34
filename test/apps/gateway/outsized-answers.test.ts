import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startRealGateway } from '../../support/real-gateway.ts';
import { textOf } from '../../support/gateway-wire.ts';

const server = new URL('../../clients/fixtures/hostile-server.mjs', import.meta.url).pathname;

describe('an allowed call', () => {
  let real!: Awaited<ReturnType<typeof startRealGateway>>;
  beforeAll(async () => {
    const limits = { maxMessageBytes: 100_000, maxMessageMembers: 1_000 };
    const hostile = { command: process.execPath, args: [server], limits };
    real = await startRealGateway({}, { mcpServers: { hostile } });
  });
  afterAll(() => real.stop());
  beforeEach(() => {
    real.authority.decide = () => ({ decision: true });
  });
  const call = async (tool: string, args: object) =>
    (await real.send('tools/call', { name: `hostile__${tool}`, arguments: args })).body;

  it.each<[what: string, tool: string, args: object, why: RegExp]>([
    ['10,000 levels', 'deep', { levels: 10_000 }, /nested more than 200 levels deep/],
    ['201 levels', 'deep', { levels: 201 }, /nested more than 200 levels deep/],
    ['too many members', 'wide', { members: 2_000 }, /more than 1000 members and elements/],
    ['too many bytes', 'large', { bytes: 200_000 }, /larger than 100000 bytes/],
  ])(
    'with an answer of %s fails with an error that the tool may have run and why there is no result',
    async (_what, tool, args, why) => {
      const { error } = await call(tool, args);
      expect(error).toMatchObject({ code: -32_603, message: expect.stringMatching(why) });
      expect(error?.message).toMatch(/The tool may have run, .* check before you try again\. /);
    },
  );

  it('gets an answer with the allowed number of levels', async () => {
    const { result } = await call('deep', { levels: 190 });
    expect(result).toMatchObject({ content: [] });
    expect(textOf((await call('ok', {})).result)).toBe('ok');
  });
});
