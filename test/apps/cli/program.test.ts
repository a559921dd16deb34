import { mkdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { freePort } from '../../../apps/shared/embedded/process-tools.ts';
import { onFreePorts } from '../../support/config.ts';
import { createEmptyDatabase } from '../../support/database.ts';
import { serve } from '../../support/serve.ts';
import { Desk } from './run.ts';
import { writeStack } from '../../../apps/cli/stack.ts';
import { OWN_COMMAND } from '../../../apps/cli/own-command.ts';

const at = (config: object | string = {}) => new Desk(config);

describe('the command line', () => {
  const COMMANDS = [
    [],
    ...[
      ['up'],
      ['remove'],
      ['doctor'],
      ['lint'],
      ['migrate'],
      ['token'],
      ['requests'],
      ['audit'],
      ['demo'],
      ['policy', 'test'],
    ],
    ...['list', 'show', 'approve', 'deny'].map((name) => ['requests', name]),
    ...['list', 'show'].map((name) => ['audit', name]),
  ];

  it.each(COMMANDS.map((command) => [command]))('explains itself: %j --help', async (command) => {
    const { code, out, err } = await at().run([...command, '--help']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(`Usage: countersign ${command.join(' ')}`.trim());
    if (command.length > 0 && command[0] !== 'requests' && command[0] !== 'audit') expect(out).toContain('--json');
  });

  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as { version: string };
    expect(await at().run(['--version'])).toMatchObject({ code: 0, out: version, err: '' });
  });

  it('explains its exit codes', async () => {
    const { out } = await at().run(['--help']);
    expect(out).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 /);
  });

  it.each([
    [['nonsense']],
    [['up', '--nonsense']],
    [['token']],
    [['requests', 'show']],
    [['audit', 'list', '--state', 'x']],
  ])('exits with 2 for a wrong command line: %j', async (args) => {
    const { code, out, err } = await at().run(args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('--help');
  });

  it('reports each faulty setting of the configuration, and prints a stack only with --debug', async () => {
    const config = 'gateway:\n  prot: 4100\naudit:\n  port: seven\n';
    const { code, err } = await at(config).run(['up']);
    expect(code).toBe(1);
    expect(err.split('\n')).toHaveLength(2);
    expect(err).toContain('countersign.yaml:2: gateway.prot');
    expect(err).toContain('countersign.yaml:4: audit.port');
    expect(err).not.toMatch(/\n\s+at /);
    expect((await at(config).run(['--debug', 'up'])).err).toMatch(/\n\s+at /);
  });

  it('names the missing file', async () => {
    const { code, err } = await at().run(['--config', 'other.yaml', 'up']);
    expect(code).toBe(1);
    expect(err).toMatch(/--config: there is no file .*other\.yaml/);
  });
});

describe('up', () => {
  it('names the taken port, its setting and what to do, before it starts anything', async () => {
    const config = await onFreePorts();
    const server = await serve(() => undefined);
    const port = Number(new URL(server.url).port);
    try {
      const { code, out, err } = await at({ ...config, approvals: { port } }).run(['up']);
      expect([code, out]).toEqual([1, '']);
      expect(err).toBe(
        `countersign: port ${port} (approvals.port) is in use by another program; stop that program, or set approvals.port in countersign.yaml`,
      );
    } finally {
      await server.close();
    }
  });

  it('names all ports that are taken, as by a Countersign of another folder', async () => {
    const servers = [await serve(() => undefined), await serve(() => undefined)];
    const [pdp = 0, audit = 0] = servers.map(({ url }) => Number(new URL(url).port));
    try {
      const config = { ...(await onFreePorts()), pdp: { port: pdp }, audit: { port: audit } };
      const { code, err } = await at(config).run(['up']);
      expect([code, err]).toEqual([
        1,
        `countersign: ports ${pdp}, ${audit} are in use, as by a Countersign of another folder; stop it, or set pdp.port, ` +
          'audit.port in countersign.yaml',
      ]);
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
  });

  it('refuses to run in production', async () => {
    const config = {
      mode: 'production',
      identity: { issuer: 'https://idp.example' },
      temporal: { address: '127.0.0.1:1' },
    };
    const { code, err } = await at(config).run(['up'], { env: { DATABASE_URL: 'postgresql://127.0.0.1:1/x' } });
    expect(code).toBe(1);
    expect(err).toContain('is for development');
  });
});

describe('migrate', () => {
  it('names missing migrations, applies them, and then has no more to do', async () => {
    const database = await createEmptyDatabase();
    const run = (...args: string[]) => at().run(['migrate', '--database-url', database.url, ...args]);
    try {
      const before = await run('--status');
      expect(before.code).toBe(1);
      expect(before.out).toContain('20261121000000_init: missing; run `countersign migrate`');
      const applied = await run('--json');
      expect([applied.code, applied.err]).toEqual([0, '']);
      expect(JSON.parse(applied.out).applied).toContain('20261121000000_init');
      expect(await run()).toMatchObject({ code: 0, out: 'The database is up to date.' });
      const after = await run('--status', '--json');
      expect(after.code).toBe(0);
      expect(JSON.parse(after.out)).toMatchObject({ missing: [], edited: [], failed: [], unknown: [], functions: [] });
    } finally {
      await database.drop();
    }
  });

  it('asks for a database address when there is none', async () => {
    const { code, err } = await at().run(['migrate']);
    expect(code).toBe(1);
    expect(err).toContain('set DATABASE_URL or --database-url');
  });
});

describe('token', () => {
  it('says so if Countersign runs and does not answer, and not that nothing runs', async () => {
    const desk = at();
    const place = { mcp: '', pdp: '', approvals: '', accessRequests: '', audit: '', issuer: '' };
    mkdirSync(desk.stateDir, { mode: 0o700 });
    writeStack(desk.stateDir, {
      ...{ pid: process.pid, startedAt: '2026-11-21T10:00:00.000Z', configFile: '/countersign.yaml' },
      ...{ urls: { ...place, gateway: 'http://127.0.0.1:9' }, temporalAddress: '127.0.0.1:7233' },
    });
    const { code, err } = await desk.run(['token', '--as', 'alice']);
    expect(code).toBe(1);
    expect(err).toContain(`Countersign (process ${process.pid}) does not answer at http://127.0.0.1:9; wait`);
  });

  it('lists the known people when the name is unknown', async () => {
    const people = [{ name: 'zoe', roles: ['agent', 'auditor'] }];
    const { code, out, err } = await at({ identity: { people } }).run(['token', '--as', 'alice']);
    expect([code, out]).toEqual([2, '']);
    expect(err).toBe('countersign: no person is called alice; configured are zoe (agent, auditor)');
  });

  it('says how to start when no stack runs', async () => {
    const { code, out, err } = await at().run(['token', '--as', 'alice']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('nothing is running on the state folder');
    expect(err).toContain(`${OWN_COMMAND} up`);
  });

  it('names the issuer when that is not the embedded one', async () => {
    const { code, err } = await at({ identity: { issuer: 'https://idp.example' } }).run(['token', '--as', 'alice']);
    expect(code).toBe(1);
    expect(err).toContain('https://idp.example');
    expect(err).toContain('COUNTERSIGN_TOKEN');
  });
});

describe('the option --as', () => {
  it.each([
    [['requests', 'list', '--as', 'olivia'], 'olivia does not have the role approver'],
    [['audit', 'list', '--as', 'alice'], 'alice does not have the role auditor'],
  ])('lists the people with the role when the named person lacks it: %j', async (args, told) => {
    const { code, out, err } = await at().run(args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toBe(
      `countersign: ${told}; configured are agent (agent), alice (approver), bob (approver, agent), olivia (auditor)`,
    );
  });
});

describe('doctor', () => {
  it('reports a broken configuration as a failed check', async () => {
    const { code, out } = await at('nonsense: 1\n').run(['doctor', '--json']);
    expect(code).toBe(1);
    const { findings } = JSON.parse(out);
    expect(findings).toContainEqual(expect.objectContaining({ name: 'configuration', status: 'fail' }));
  });

  it('says that a fresh folder can be started and that no stack runs', async () => {
    const { code, out } = await at(await onFreePorts()).run(['doctor', '--json']);
    const { findings } = JSON.parse(out) as { findings: { name: string; status: string }[] };
    expect(code).toBe(0);
    const status = Object.fromEntries(findings.map((one) => [one.name, one.status]));
    expect(status).toMatchObject({
      node: 'ok',
      'state folder': 'ok',
      ports: 'ok',
      'postgres programs': 'ok',
      services: 'warn',
    });
  });

  it('names a taken port and its setting', async () => {
    const server = await serve(() => undefined);
    const port = Number(new URL(server.url).port);
    try {
      const { code, out } = await at({ ...(await onFreePorts()), pdp: { port } }).run(['doctor']);
      expect(code).toBe(1);
      expect(out).toMatch(new RegExp(`fail +ports +port ${port} \\(pdp.port\\) is in use`));
    } finally {
      await server.close();
    }
  });

  it('fails when the database does not answer', async () => {
    const DATABASE_URL = `postgresql://x:secret-password@127.0.0.1:${await freePort()}/x`;
    const { code, out, err } = await at(await onFreePorts()).run(['doctor'], { env: { DATABASE_URL } });
    expect(code).toBe(1);
    expect(out).toMatch(/fail +database/);
    expect(out + err).not.toContain('secret-password');
  });
});
