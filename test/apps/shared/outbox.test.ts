import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { pino } from 'pino';
import type { Running } from '../../../apps/shared/lifecycle.ts';
import { ServiceFailure, startOutbox, type OutboxHandler, type OutboxOptions } from '../../../apps/shared/outbox.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

const TABLE = `
  CREATE SCHEMA IF NOT EXISTS queue;
  CREATE TABLE IF NOT EXISTS queue.outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text NOT NULL, subject_id text NOT NULL,
    urgency smallint NOT NULL DEFAULT 0, available_at timestamptz NOT NULL DEFAULT clock_timestamp(), attempts integer NOT NULL DEFAULT 0)`;

describe('the outbox', () => {
  let db: TestDatabase;
  let running: Running[];
  let logged: string;

  beforeAll(async () => {
    db = await createTestDatabase();
    await db.pool.query(TABLE);
  });
  afterAll(() => db.drop());
  beforeEach(async () => {
    running = [];
    logged = '';
    await db.pool.query('TRUNCATE queue.outbox');
  });
  afterEach(() => Promise.all(running.map((one) => one.stop())));

  const start = async (handlers: Record<string, OutboxHandler>, options: Partial<OutboxOptions> = {}) => {
    const log = pino({}, { write: (line: string) => (logged += line) });
    const base = { pool: db.pool, listenUrl: db.url, schema: 'queue', channel: 'queue_outbox', concurrency: 4, log };
    const one = await startOutbox({ ...systemTime, ...base, handlers, ...options });
    running.push(one);
    return one;
  };
  const add = async (subjects: string[], kind = 'greet') => {
    await db.pool.query('INSERT INTO queue.outbox (kind, subject_id) SELECT $1, unnest($2::text[])', [kind, subjects]);
    await db.pool.query("SELECT pg_notify('queue_outbox', '')");
  };
  const open = async () => (await db.pool.query('SELECT count(*)::int AS n FROM queue.outbox')).rows[0].n as number;
  const listeners = async () =>
    (
      await db.pool.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
      )
    ).rows.map((row) => row.pid);

  it('handles a row soon after its commit is announced, and only once', async () => {
    const seen: string[] = [];
    // Time stands still, and so does the round every second, which would find the rows as well.
    await start({ greet: async (subject) => void seen.push(subject) }, { clock: new ManualClock() });
    const names = ['ada', 'bob', 'cyd', 'dan', 'eve'];
    for (const name of names) {
      await add([name]);
      await waitFor(() => seen.includes(name), { everyMs: 5 });
      await waitFor(async () => (await open()) === 0);
    }
    expect(seen).toEqual(names);
  });

  it('handles urgent rows first, however late they came', async () => {
    const seen: string[] = [];
    await db.pool.query(
      `INSERT INTO queue.outbox (kind, subject_id, urgency)
       VALUES ('greet', 'later', 1), ('greet', 'later still', 1), ('greet', 'now', 0)`,
    );
    await start({ greet: async (subject) => void seen.push(subject) }, { concurrency: 1 });
    await waitFor(() => seen.length === 3);
    expect(seen).toEqual(['now', 'later', 'later still']);
  });

  it('finds a row without an announcement', async () => {
    const seen: string[] = [];
    await start({ greet: async (subject) => void seen.push(subject) });
    // Due only after the rounds that every start causes.
    await db.pool.query(
      "INSERT INTO queue.outbox (kind, subject_id, available_at) VALUES ('greet', 'silent', clock_timestamp() + interval '400 ms')",
    );
    await waitFor(() => seen.includes('silent'));
  });

  it('gives each row to one of several processes', async () => {
    const seen: string[] = [];
    const handlers = { greet: async (subject: string) => void seen.push(subject) };
    await Promise.all([start(handlers), start(handlers), start(handlers)]);
    const subjects = Array.from({ length: 200 }, (_, i) => `s${i}`);
    await add(subjects);
    await waitFor(async () => (await open()) === 0);
    expect(seen.sort()).toEqual(subjects.sort());
  });

  it('handles no more rows at once than its limit, and waits for them when it stops', async () => {
    let now = 0;
    let most = 0;
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const one = await start(
      {
        greet: async () => {
          most = Math.max(most, (now += 1));
          await gate;
          now -= 1;
        },
      },
      { concurrency: 3 },
    );
    await add(Array.from({ length: 10 }, (_, i) => `s${i}`));
    await waitFor(() => now === 3);
    const stopped = one.stop();
    release();
    await stopped;
    running = [];
    expect({ now, most }).toEqual({ now: 0, most: 3 });
    expect(await open()).toBe(7);
  });

  it('repeats a failed row until it succeeds, and logs it', async () => {
    let calls = 0;
    await start({
      greet: async () => {
        calls += 1;
        if (calls < 3) throw new Error('receiver is down');
      },
    });
    await add(['ada']);
    await waitFor(async () => (await open()) === 0);
    expect(calls).toBe(3);
    expect(logged).toContain('receiver is down');
  });

  it('parks a row that always fails and raises an alarm, while the others continue', async () => {
    const greeted: string[] = [];
    let isPoisoned = true;
    const greet = async (subject: string) => {
      if (subject === 'poison' && isPoisoned) throw new Error('never');
      greeted.push(subject);
    };
    const failures = () => logged.split('\n').filter((line) => line.includes('"subjectId":"poison"')).length;
    const pauseS = async () => {
      const text = `SELECT extract(epoch FROM available_at - clock_timestamp())::float8 AS s
        FROM queue.outbox WHERE subject_id = 'poison'`;
      return (await db.pool.query<{ s: number }>(text)).rows[0]?.s ?? NaN;
    };
    /** Of the row, until it has been tried this often. */
    const endPause = async (attempts: number) => {
      const text = `UPDATE queue.outbox SET available_at = clock_timestamp() WHERE subject_id = 'poison' AND attempts < $1`;
      await db.pool.query(text, [attempts]);
      await db.pool.query("SELECT pg_notify('queue_outbox', '')");
    };
    await db.pool.query("INSERT INTO queue.outbox (kind, subject_id, urgency) VALUES ('greet', 'poison', -1)");
    await start({ greet }, { concurrency: 1 });
    for (let failed = 0; failed < 10;) {
      const before = failed;
      await waitFor(() => failures() > before, { everyMs: 5 });
      // A row that is handled after the failure is handled after the pause was recorded.
      await add([`beside ${before}`]);
      await waitFor(() => greeted.includes(`beside ${before}`), { everyMs: 5 });
      // A pause may have ended meanwhile.
      failed = failures();
      await endPause(10);
    }
    const alarm = logged.split('\n').find((line) => line.includes('outbox_row_stuck')) ?? '{}';
    expect(JSON.parse(alarm)).toMatchObject({ level: 50, kind: 'greet', subjectId: 'poison', attempts: 10 });
    expect(await pauseS()).toBeGreaterThan(500);
    await add(Array.from({ length: 50 }, (_, index) => `after ${index}`));
    await waitFor(async () => (await open()) === 1);
    expect(failures()).toBe(10);
    // A parked row is not lost: once the cause is mended, it is handled like any other.
    isPoisoned = false;
    await endPause(11);
    await waitFor(async () => (await open()) === 0);
    expect(greeted.at(-1)).toBe('poison');
  });

  it('raises one alarm in ten minutes for all rows that wait for the same service, and one for each other row', async () => {
    const clock = new ManualClock();
    const services: Record<string, string[]> = { first: ['a'], second: ['a'], third: ['a', 'b'], fourth: ['b'] };
    const greet = async (subject: string) => {
      const away = services[subject];
      throw away === undefined ? new Error('its own fault') : new ServiceFailure('it is away', away);
    };
    const subjects = [...Object.keys(services), 'alone', 'alone too'];
    const failed = () => logged.split('\n').filter((line) => line.includes('"attempts":1')).length;
    const alarms = () => {
      const lines = logged.split('\n').filter((line) => line.includes('outbox_row_stuck'));
      return lines.map((line) => (JSON.parse(line) as { subjectId: string }).subjectId);
    };
    await db.pool.query("INSERT INTO queue.outbox (kind, subject_id, attempts) SELECT 'greet', unnest($1::text[]), 9", [
      subjects,
    ]);
    await start({ greet }, { concurrency: 1, clock });
    await waitFor(() => failed() === 6);
    expect(alarms()).toEqual(['first', 'third', 'alone', 'alone too']);
    const again = async () => {
      logged = '';
      await db.pool.query('UPDATE queue.outbox SET available_at = clock_timestamp()');
      await db.pool.query("SELECT pg_notify('queue_outbox', '')");
      await waitFor(() => failed() === 6);
    };
    await again();
    expect(alarms().sort()).toEqual(['alone', 'alone too']);
    await clock.advance(600_000);
    await again();
    expect(alarms()).toHaveLength(4);
  });

  it('keeps a row of an unknown kind, and logs it', async () => {
    await start({});
    await add(['ada'], 'toString');
    await waitFor(() => logged.includes('no handler for rows of kind toString'));
    expect(await open()).toBe(1);
  });

  it('listens again after its connection was lost', async () => {
    const seen: string[] = [];
    await start({ greet: async (subject) => void seen.push(subject) });
    const [first] = await waitFor(async () => ((await listeners()).length === 1 ? listeners() : undefined));
    await db.pool.query('SELECT pg_terminate_backend($1)', [first]);
    await waitFor(async () => (await listeners()).some((pid) => pid !== first));
    await add(['ada']);
    await waitFor(() => seen.includes('ada'));
  });

  it('holds no more rows than its limit, for any query plan', async () => {
    // This plan runs a part of the statement again for each examined row.
    const plain = ['hashjoin', 'mergejoin', 'material', 'hashagg', 'sort']
      .map((way) => `-c enable_${way}=off`)
      .join(' ');
    const pool = new Pool({ connectionString: db.url, options: plain });
    let inHand = 0;
    let most = 0;
    let handled = 0;
    const greet = async () => {
      most = Math.max(most, (inHand += 1));
      await db.pool.query('SELECT pg_sleep(0.02)');
      inHand -= 1;
      handled += 1;
    };
    await add(Array.from({ length: 40 }, (_, index) => `row-${index}`));
    const outbox = await start({ greet }, { pool });
    await waitFor(() => handled === 40);
    await outbox.stop();
    running.pop();
    await pool.end();
    expect(most).toBeLessThanOrEqual(4);
    expect(logged).toBe('');
  });
});
