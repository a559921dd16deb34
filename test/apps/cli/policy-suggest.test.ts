import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify, parse } from 'yaml';
import { createAccessRequestStore } from '../../../apps/approvals/stores/access-request.store.ts';
import { withHistory } from '../../../apps/approvals/stores/history.ts';
import type { NewAccessRequest, NewVote } from '../../../apps/approvals/stores/new-rows.ts';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { anApprover, aStage, newAccessRequest, newVote } from '../../support/access-requests.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { TOOL_DIGEST } from '../../support/grants.ts';
import { systemTime } from '../../support/time.ts';
import { Desk, emptyDesk } from './run.ts';

const CONFIG = {
  mcpServers: { files: { url: 'https://files.test/mcp' } },
  rules: [{ approve: 'files__*', name: 'asks', by: { roles: '${ROLE:-approver}' } }],
};

describe('countersign policy suggest', () => {
  let database: TestDatabase;
  const desk = new Desk(CONFIG);
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  const run = (...args: string[]) => desk.run(['policy', 'suggest', ...args], { env: { DATABASE_URL: database.url } });

  /** Opens a request for a call, and lets people decide it by these votes. */
  async function ask(args: JsonObject, votes: readonly Partial<NewVote>[], changes: Partial<NewAccessRequest> = {}) {
    const { tool = 'files__write', effect = 'write' } = changes;
    const call = { tool, server: 'files', roles: [], effect };
    const store = createAccessRequestStore(database.pool);
    const request = newAccessRequest({
      ...{ tool, effect, toolDigest: TOOL_DIGEST },
      requester: { issuer: undefined, subject: 'dana', clientId: 'coder' },
      subject: canonicalJson({ type: 'identity', id: 'dana' }),
      resource: canonicalJson({ type: 'tool', id: tool }),
      context: canonicalJson({ agent: 'coder', arguments: args, call }),
      stages: [aStage()],
      ...changes,
    });
    await store.create(request);
    for (const vote of votes) expect(await store.castVote(newVote(request, { via: 'inbox', ...vote }))).toBe('counted');
    return request;
  }
  const by = (name: string, more: Partial<NewVote> = {}) => ({ approver: anApprover(name), ...more });
  const turns = (index: number) => [by(index % 2 === 0 ? 'alice' : 'bob')];
  const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values);
  const empty = () => sql('TRUNCATE approvals.access_request CASCADE');

  it('prints a rule that a person can paste, after it has tried it', async () => {
    await empty();
    for (let index = 0; index < 20; index += 1) {
      const content = `\u001b[2J${index}`;
      await ask({ path: `/srv/app/${index}`, mode: 'a\u202eb\n"c"', content }, turns(index));
    }
    await ask({ path: '/etc/passwd', mode: 'w', content: '' }, [by('alice', { verdict: 'deny' })]);
    const { code, out, err } = await run();
    expect(code).toBe(0);
    expect(out).toContain(
      '# This rule would have let 20 of 21 requests pass without an approver; 0 of them were denied.',
    );
    expect(out).toContain('# It lets every value pass in: content.');
    expect(out.includes('\u001b') || out.includes('\u202e')).toBe(false);
    const rule = {
      allow: {
        ...{ tool: 'files__write', effect: 'write' },
        caller: { client: 'coder', subject: 'dana' },
        where: { path: { path: { under: '/srv/app' } }, mode: 'a\u202eb\n"c"' },
      },
      ...{ insteadOf: ['asks'], name: 'suggested 1: files__write' },
    };
    expect(parse(out)).toEqual([rule]);
    expect(err).toContain('21 requests ended in the last 30 days. People approved 20 of them.');
    const pasted = new Desk(`${stringify(CONFIG)}${out}\n`);
    const call = ['--tool', 'files__write', '--effect', 'write', '--as', 'dana', '--client', 'coder', '--arguments'];
    const explain = async (path: string) =>
      (await pasted.run(['policy', 'explain', ...call, JSON.stringify({ path, mode: 'a\u202eb\n"c"' })])).out;
    expect(await explain('/srv/app/new')).toMatch(/^decision {2}permitted/);
    expect(await explain('/srv/other')).toMatch(/^decision {2}denied, until an approver approves/);
  });

  it('counts only what people approved', async () => {
    await empty();
    const args = (index: number) => ({ path: `/a/${index}` });
    for (let index = 0; index < 19; index += 1) await ask(args(index), turns(index));
    const automatic = { ...anApprover('automatic:r'), issuer: 'https://approvals.test' };
    await ask(args(20), [{ approver: automatic, via: 'automatic' }]);
    await ask(args(21), [by('alice', { via: 'agent' })]);
    const json = async () => JSON.parse((await run('--json')).out) as { counts: object; rules: object[] };
    expect(await json()).toMatchObject({ counts: { requests: 21, approved: 19 }, rules: [] });
    await ask(args(22), [by('alice', { via: 'slack' })], { stages: [aStage({ chatDecisions: true })] });
    expect(await json()).toMatchObject({ counts: { approved: 20 }, rules: [{ approvals: 20, passed: 22 }] });
  });

  describe('where people approved twenty calls alike', () => {
    beforeAll(async () => {
      await empty();
      for (let index = 0; index < 20; index += 1) await ask({ path: '/a' }, turns(index));
    });

    it.each<[string, (request: NewAccessRequest) => Promise<unknown>, readonly Partial<NewVote>[]]>([
      ['denied', async () => undefined, [by('alice', { verdict: 'deny' })]],
      ['expired', ({ id }) => sql('SELECT approvals.end_request($1, $2)', id, 'expired'), []],
      [
        'approved against a denial',
        (request) => createAccessRequestStore(database.pool).castVote(newVote(request, by('carol'))),
        [by('alice'), by('bob', { verdict: 'deny' })],
      ],
      [
        'approved, and taken back',
        ({ id }) => sql("SELECT approvals.revoke_approval($1, 'https://idp.test', 'alice', 'no', 'api')", id),
        [by('alice')],
      ],
    ])('proposes no rule for calls like one that was %s', async (_how, end, votes) => {
      const isMixed = votes.length === 2;
      const request = await ask({ path: '/a' }, votes, isMixed ? { stages: [aStage({ quorum: 2, veto: false })] } : {});
      await end(request);
      const { code, out, err } = await run();
      expect([code, out]).toEqual([0, '']);
      expect(err).toContain(
        'Left out: files__write by coder for dana (20 approvals by 2 people): 1 request like these was',
      );
      expect(err).toContain('Nothing is proposed.');
      await sql('DELETE FROM approvals.access_request WHERE id = $1', request.id);
    });
  });

  it('proposes grants on the rule as its author wrote it', async () => {
    await empty();
    for (let index = 0; index < 20; index += 1) await ask({ words: ['status'] }, turns(index));
    const { out } = await run();
    expect(out).toContain('# In place of the rule "asks" (countersign.yaml:5). It still asks');
    expect(parse(out)).toEqual([{ ...CONFIG.rules[0], grantable: { minutes: 30, uses: 10 } }]);
  });

  it('reads the same requests all the time, even if others end meanwhile', async () => {
    const read = withHistory({ databaseUrl: database.url, days: 1, ...systemTime }, async (history) => {
      await ask({ path: '/later' }, turns(0));
      const first: unknown[] = [];
      for await (const one of history.requests()) first.push(one);
      return [history.count === first.length, history.isCut];
    });
    expect(await read).toEqual([true, false]);
  });

  it('says what to do without a database, a history or policies of its own', async () => {
    await empty();
    const none = await run('--days', '7');
    expect([none.code, none.err]).toEqual([
      1,
      expect.stringContaining('no request ended in the last 7 days; set --days'),
    ]);
    const [missing, gone] = [
      await desk.run(['policy', 'suggest']),
      await run('--database-url', `${database.url}_gone`),
    ];
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('there is no database; set DATABASE_URL')]);
    expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('the database does not exist; create it')]);
    const elsewhere = new Desk({ pdp: { url: 'https://pdp.test' } });
    const other = await elsewhere.run(['policy', 'suggest'], { env: { DATABASE_URL: database.url } });
    expect([other.code, other.err]).toEqual([1, expect.stringContaining('another decision point decides (pdp.url)')]);
    const wrong = await run('--days', '0');
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('Give a whole number from 1 to 3650')]);
    expect((await emptyDesk().run(['policy', 'suggest', '--help'])).out).toContain('This command changes nothing.');
  });
});
