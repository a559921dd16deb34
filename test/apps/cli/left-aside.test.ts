import { expect, it } from '@jest/globals';
import { DEFAULT_POLICIES } from '../../support/pdp.ts';
import { Desk } from './run.ts';

const mcpServers = { off: { command: 'no-such-program', type: 'stdio', disabled: true, autoApprove: ['a'] } };
const SAID = 'mcpServers.off: it is switched off, so it is not started and its tools are not offered';

it.each<[command: string, config: object, said: string]>([
  // The message of `up` before it starts anything: it refuses to run in production.
  ['up', { mode: 'production', identity: { issuer: 'https://id.example' } }, `warning  ${SAID}`],
  ['lint', {}, `warning  ${SAID}`],
  ['doctor', {}, SAID],
])('`%s` warns about ignored settings in the block of an MCP host', async (command, config, said) => {
  const desk = new Desk({ mcpServers, pdp: { policies: DEFAULT_POLICIES }, ...config });
  const { out, err } = await desk.run([command], { env: { DATABASE_URL: 'postgresql://127.0.0.1:9/x' } });
  expect(`${out}\n${err}`).toContain(said);
});
