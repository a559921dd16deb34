import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { onFreePorts } from '../../support/config.ts';
import { Desk } from './run.ts';

it('doctor says which upstreams work, and why the others do not', async () => {
  const fixture = new URL('../../clients/fixtures/hostile-server.mjs', import.meta.url).pathname;
  const mcpServers = {
    good: { command: process.execPath, args: [fixture] },
    broken: { command: process.execPath, args: ['-e', 'console.error("no licence"); process.exit(4)'] },
    long: { command: process.execPath, args: [fixture, 'many'], limits: { maxListItems: 10 } },
    absent: { command: 'no-such-program' },
    away: { url: 'http://127.0.0.1:9/mcp' },
  };
  const { code, out } = await new Desk({ ...(await onFreePorts()), mcpServers }).run(['doctor', '--json']);
  const { findings } = JSON.parse(out) as {
    findings: { name: string; status: string; message: string; advice?: string }[];
  };
  const of = (name: string) => findings.find((one) => one.name === `upstream ${name}`);
  expect(of('good')).toEqual({ name: 'upstream good', status: 'ok', message: expect.stringMatching(/^tools: \d+$/) });
  expect(of('broken')).toMatchObject({ status: 'fail', message: expect.stringMatching(/exit code 4.*no licence/) });
  // We ended it once, after it had reported its revision, so its exit is not the cause.
  expect(of('long')).toMatchObject({ status: 'fail', message: expect.stringMatching(/limits\.maxListItems \(10\)/) });
  expect(of('long')?.message).not.toMatch(/ended/);
  expect(of('absent')).toMatchObject({ status: 'fail', message: expect.stringContaining('ENOENT') });
  expect(of('away')).toMatchObject({ status: 'fail', advice: expect.stringContaining('mcpServers.away (url') });
  expect(code).toBe(1);
});

it('doctor passes the example before its first start, which creates the folder of its file server', async () => {
  // Like a file server without its folder.
  const script = 'console.error("no such folder"); process.exit(1)';
  const mcpServers = { files: { command: process.execPath, args: ['-e', script, '${COUNTERSIGN_STATE}/files'] } };
  const desk = new Desk({ ...(await onFreePorts()), mcpServers });
  const { code, out } = await desk.run(['doctor']);
  expect(out).toMatch(
    /^warn +upstream files +its folder \S+ does not exist yet\n +run `node \S+ up`, which makes it$/m,
  );
  expect([code, existsSync(join(desk.stateDir, 'files'))]).toEqual([0, false]);
});
