import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { isAlive } from '../../../../apps/shared/embedded/process-tools.ts';
import { firstLine, killHard, startScript } from '../../../support/child.ts';
import { embeddedPostgres } from '../../../support/embedded-servers.ts';
import { patiently } from '../../../support/wait-for.ts';

const { stateDir, pidFile, serverPid, start, query } = embeddedPostgres();

describe('findOrStartPostgres', () => {
  it('gives two processes that start at once the same server', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    expect(two.url).toBe(one.url);
  });

  it('adopts the server of a killed process, and stops it in the end', async () => {
    const child = startScript('start-postgres.ts', stateDir());
    const url = await firstLine(child);
    await query(url, 'CREATE TABLE kept (id int)');
    await killHard(child);
    const pid = serverPid();
    const adopted = await start();
    expect(adopted).toMatchObject({ url, how: `already running (pid ${pid})` });
    expect(await query(adopted.url, 'SELECT * FROM kept')).toEqual([]);
    await adopted.stop();
    expect(isAlive(pid)).toBe(false);
  });

  it('has every committed row at the same address after a kill of the server itself', async () => {
    const { url } = await start({ durable: true });
    await query(url, 'CREATE TABLE kept AS SELECT generate_series(1, 1000) AS id');
    process.kill(serverPid(), 'SIGKILL');
    // The remaining processes of the server exit after a while.
    const again = await patiently(() => start({ durable: true }));
    expect(again.url).toBe(url);
    expect(await query(again.url, 'SELECT count(*)::int AS n FROM kept')).toEqual([{ n: 1000 }]);
  });

  it('does not mistake another process with the pid of a former server for that server', async () => {
    const first = await start();
    const left = readFileSync(pidFile(), 'utf8').split('\n');
    await first.stop();
    writeFileSync(pidFile(), [String(process.pid), ...left.slice(1)].join('\n'));
    const second = await start();
    expect(second.how).toMatch(/^PostgreSQL \d+ /);
    expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});
