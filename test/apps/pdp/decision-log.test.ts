import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openDecisionLog, type Decided, type DecisionLine, type DecisionLog } from '../../../apps/pdp/decision-log.ts';
import { openCedarEngine, type CedarEngine } from '../../../apps/pdp/engine/cedar/cedar-engine.ts';
import { recordingLog } from '../../support/pdp.ts';
import { aCall, decidingBy, permitting, PolicyFolder } from '../../support/policy-folder.ts';
import { waitFor } from '../../support/wait-for.ts';
import { systemTime } from '../../support/time.ts';

let folder: string;
let file: string;
let opened: DecisionLog | undefined;
let { lines, log } = recordingLog();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-decisions-'));
  file = join(folder, 'decisions.jsonl');
  ({ lines, log } = recordingLog());
});
afterEach(async () => {
  await opened?.close();
  opened = undefined;
  rmSync(folder, { recursive: true });
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
/** Bytes that the process needs, without garbage, which is there for as long as nothing collects it. */
function memoryInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const open = (path = file) => (opened = openDecisionLog(path, { log, ...systemTime }));
const close = async () => {
  await opened?.close();
  opened = undefined;
};
const read = (path = file) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as DecisionLine);
const decided = (of: Partial<Decided> = {}): Decided => ({
  request: aCall('a'),
  requester: 'pep',
  answer: { kind: 'permit', policies: ['p'] },
  approvedFor: undefined,
  ...of,
});
const MODE = 0o777;
const alarms = () => lines.filter(({ alarm }) => alarm === 'decision_log_incomplete').length;

describe('the decision log', () => {
  it('has one line for each decision, in order, and is readable only by its owner', async () => {
    writeFileSync(file, '');
    chmodSync(file, 0o644);
    const written = open();
    written.note('sha-256:01', decided({ approvedFor: 'boss' }));
    const asking = { kind: 'requestable', template: 't', reason: 'r', policies: ['q'] } as const;
    written.note('sha-256:02', decided({ answer: asking }));
    written.note('sha-256:02', decided({ answer: { kind: 'failed', reason: 'input_not_evaluable', cause: 'c' } }));
    await close();
    expect(statSync(file).mode & MODE).toBe(0o600);
    expect(read()).toEqual([
      {
        time: expect.stringMatching(/Z$/),
        policy_version: 'sha-256:01',
        requester: 'pep',
        request: aCall('a'),
        approval: { template: 'boss' },
        decision: true,
        outcome: 'permit',
        policies: ['p'],
      },
      expect.objectContaining({ decision: false, outcome: 'requestable', template: 't', reason: 'r', policies: ['q'] }),
      expect.objectContaining({ decision: false, outcome: 'failed', policies: [] }),
    ]);
  });

  it('keeps decisions unchanged and on time when the disk is full, with little memory and one alarm', async () => {
    symlinkSync('/dev/full', file);
    const full = open();
    const mode = statSync('/dev/full').mode;
    const text = 'x'.repeat(1_000_000);
    const call = { ...aCall('a'), context: { path: text } };
    const before = memoryInUse();
    for (let time = 0; time < 200; time += 1) {
      expect(() => full.note('sha-256:01', decided({ request: call }))).not.toThrow();
      await new Promise(setImmediate);
    }
    // Of 200 megabytes.
    expect(memoryInUse() - before).toBeLessThan(50_000_000);
    await waitFor(() => alarms() > 0);
    expect(alarms()).toBe(1);
    expect(statSync('/dev/full').mode).toBe(mode);
    await close();
  });

  it('continues when the disk has room again', async () => {
    symlinkSync('/dev/full', file);
    const full = open();
    const text = 'x'.repeat(1_000_000);
    for (let time = 0; time < 20; time += 1)
      full.note('sha-256:01', decided({ request: { ...aCall('a'), context: { text } } }));
    await waitFor(() => alarms() > 0);
    rmSync(file);
    full.reopen();
    await waitFor(() => {
      full.note('sha-256:02', decided());
      return lines.some(({ msg }) => msg === 'the decision log is written again');
    });
    full.note('sha-256:03', decided());
    await close();
    expect(read().at(-1)?.policy_version).toBe('sha-256:03');
    expect(alarms()).toBe(1);
  });

  it('continues in a new file after the old one was moved away', async () => {
    const written = open();
    written.note('sha-256:01', decided());
    await waitFor(() => read().length === 1);
    renameSync(file, `${file}.1`);
    written.reopen();
    await waitFor(() => statSync(file, { throwIfNoEntry: false }));
    written.note('sha-256:02', decided());
    await close();
    expect(statSync(file).mode & MODE).toBe(0o600);
    expect([read(`${file}.1`), read()].map(([line]) => line?.policy_version)).toEqual(['sha-256:01', 'sha-256:02']);
  });

  it('stops the start if the file cannot be written', () => {
    expect(() => open(join(folder, 'missing', 'x'))).toThrow(/decision log .* cannot be written\. Create its folder/);
  });

  it('records a request without the approval that came with it', async () => {
    const policies = new PolicyFolder();
    let engine: CedarEngine | undefined;
    try {
      engine = await openCedarEngine(
        { folder: policies.path, directory: { subjectAttribute: 'userName' } },
        { ...systemTime, log },
      );
      const verdict = {
        kind: 'verified',
        id: 'x',
        approvedUntil: 'y',
        facts: { verified: true, template: 't' },
      } as const;
      const decide = decidingBy(engine, { decisionLog: open(), verifyApproval: () => Promise.resolve(verdict) });
      const request = { ...aCall('a'), context: { path: '/a', approval: { id: 'x', state: 'a.b.c' } } };
      const answer = await decide((now) => now(request, 'pep'));
      await close();
      expect(read()).toMatchObject([
        { decision: true, approval: { template: 't' }, policies: ['permit-a'], request: { context: { path: '/a' } } },
      ]);
      expect(readFileSync(file, 'utf8')).not.toContain('a.b.c');
      expect(Object.values(answer.context ?? {})).toContain(read()[0]?.policy_version);
    } finally {
      await engine?.close();
      policies.clear();
    }
  });

  it('records a denial for a permit that the enforcement point could not use', async () => {
    const policies = new PolicyFolder({
      'a.cedar': permitting('a').replace('\n', '\n@obligation("tell")\n'),
      'tell.obligation.json': '{"type":"notification","properties":{"to":"x","body":"y"}}',
    });
    let engine: CedarEngine | undefined;
    try {
      engine = await openCedarEngine(
        { folder: policies.path, directory: { subjectAttribute: 'userName' } },
        { ...systemTime, log },
      );
      const decide = decidingBy(engine, { decisionLog: open() });
      const request = { ...aCall('a'), context: { supported_obligations: [] } };
      expect((await decide((now) => now(request, 'pep'))).decision).toBe(false);
      await close();
      expect(read()).toMatchObject([{ decision: false, outcome: 'deny', reason: 'obligation_not_supported' }]);
    } finally {
      await engine?.close();
      policies.clear();
    }
  });
});
