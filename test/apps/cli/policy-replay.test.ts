import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import type { DecisionLine } from '../../../apps/pdp/decision-log.ts';
import { aCall, permitting } from '../../support/policy-folder.ts';
import { addFolder, policyDesk, REQUESTABLE } from './policy-desk.ts';
import type { Desk } from './run.ts';

let desk: Desk;
const aDesk = (...of: Parameters<typeof policyDesk>) => (desk = policyDesk(...of));

describe('countersign policy replay', () => {
  const line = (tool: string, of: Partial<DecisionLine> = {}) =>
    `${JSON.stringify({
      time: '2026-11-22T10:00:00.000Z',
      policy_version: 'sha-256:00',
      requester: 'mcp-gateway',
      request: { ...aCall(tool) },
      decision: true,
      outcome: 'permit',
      policies: [],
      ...of,
    })}\n`;

  const replay = (log: string, candidate: Record<string, string>, ...args: string[]) => {
    aDesk({ 'b.cedar': REQUESTABLE });
    addFolder(desk, 'candidate', candidate);
    writeFileSync(join(desk.folder, 'decisions.jsonl'), log);
    return desk.run(['policy', 'replay', 'decisions.jsonl', '--policies', 'candidate', ...args]);
  };

  it('names the recorded calls with another decision, the policies behind it, and the total', async () => {
    const { code, out } = await replay(line('a') + line('b') + line('c'), { 'a.cedar': permitting('b') });
    expect(code).toBe(0);
    const [first, ...rest] = out.split('\n');
    expect(first).toBe('line 1: tools/call on tool a by identity agent');
    expect(rest.slice(0, 5)).toEqual([
      '  before  permit  permit-a (policies/a.cedar:1)',
      '  after   deny  not_permitted',
      'line 2: tools/call on tool b by identity agent',
      '  before  requestable  approval_required  boss  ask (policies/b.cedar:2)',
      '  after   permit  permit-b (candidate/a.cedar:1)',
    ]);
    expect(out).toMatch(/^calls +3\nchanged +2\npermit → deny +1\nrequestable → permit +1$/m);
  });

  it('fails on a change when told to', async () => {
    const log = line('a');
    expect((await replay(log, { 'a.cedar': permitting('b') }, '--fail-on-change')).code).toBe(1);
    expect((await replay(log, {}, '--fail-on-change')).code).toBe(0);
    const torn = await replay(`${log}{"time":`, {}, '--fail-on-change');
    expect([torn.code, torn.err]).toEqual([
      1,
      expect.stringMatching(/1 not replayed\. line 2: it is not a line of a decision log/),
    ]);
  });

  it('counts recorded approvals as valid at that time', async () => {
    const approved = line('b', { approval: { template: 'boss' } });
    const { out } = await replay(approved, { 'b.cedar': REQUESTABLE.replace('"tool|b"', '"tool|x"') }, '--json');
    const [changed, counts] = out.split('\n').map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(changed).toMatchObject({ before: { outcome: 'permit' }, after: { outcome: 'deny' } });
    expect(counts).toMatchObject({ calls: 1, changed: 1, changes: { 'permit → deny': 1 } });
  });

  it('also reads the cases of policy tests, and each entry of a batch', async () => {
    const cases = [
      { name: 'free', request: { ...aCall('a') }, expected: true },
      {
        name: 'both',
        request: { ...aCall('a'), evaluations: [{}, { resource: { type: 'tool', id: 'c' } }] },
        expected: [true, false],
      },
    ];
    const { out } = await replay(stringify({ cases }), { 'a.cedar': permitting('b') });
    expect(out).toMatch(/^free: /);
    expect(out).toMatch(/^both, entry 1: /m);
    expect(out).toMatch(/^calls +3\nchanged +2$/m);
  });

  it('refuses a file of another kind, and a missing file', async () => {
    const { code, err } = await replay('hello', {});
    expect([code, err]).toEqual([1, expect.stringContaining('decisions.jsonl')]);
    const missing = await desk.run(['policy', 'replay', 'nothing.jsonl', '--policies', 'candidate']);
    expect([missing.code, missing.err]).toEqual([
      1,
      expect.stringMatching(/nothing\.jsonl cannot be read\. Name a decision log/),
    ]);
  });
});
