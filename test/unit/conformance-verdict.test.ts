import { describe, expect, it } from '@jest/globals';
import { packagePath } from '../../apps/shared/config/files.ts';
import { SETS } from '../conformance/sets.ts';
import { reasonsOf, scoreTable } from '../conformance/table.ts';
import { judge, readExpectations, type SetRun } from '../conformance/verdict.ts';

const finding = (check: string, verdict: 'passed' | 'failed' | 'skipped') => ({
  ...{ scenario: 'ping', check, verdict, message: 'said so' },
});
const run = (...findings: SetRun['findings']): SetRun => ({ target: 'relayed', set: 'all', findings });
const expected = [{ reason: 'not built', in: ['relayed all', 'relayed tasks'], checks: ['ping:a', 'ping:b'] }];

describe('the findings of the conformance suite', () => {
  it('are as expected when exactly the expected failures occur', () => {
    const verdict = judge([run(finding('a', 'failed'), finding('b', 'failed'), finding('c', 'passed'))], expected);
    expect(verdict).toEqual({ unexpected: [], stale: [] });
  });

  it('are reported when a check fails unexpectedly', () => {
    const runs = [run(finding('a', 'failed'), finding('b', 'failed'), finding('c', 'failed'))];
    expect(judge(runs, expected).unexpected).toEqual([{ run: runs[0], finding: finding('c', 'failed') }]);
  });

  it.each(['passed', 'skipped'] as const)('are reported when a check was expected to fail and is %s', (verdict) => {
    expect(judge([run(finding('a', verdict), finding('b', 'failed'))], expected).stale).toEqual(['relayed all ping:a']);
  });

  it('are reported when a check was expected to fail and is missing', () => {
    expect(judge([run(finding('a', 'failed'))], expected).stale).toEqual(['relayed all ping:b']);
  });
});

describe('the report', () => {
  const beside = { ...finding('d', 'passed'), scenario: 'other' };
  const runs = [run(finding('a', 'failed'), finding('b', 'passed'), finding('c', 'skipped'), beside)];

  it('counts scenarios that a revision requires separately from others', () => {
    expect(scoreTable(runs, new Map([['all', new Set(['ping'])]])).split('\n')).toEqual([
      'set  profile  scenarios  beside  checks  warnings  skipped',
      'all  relayed        0/1     1/1     2/3         0        1',
    ]);
    expect(scoreTable(runs, new Map()).split('\n')[1]).toBe(
      'all  relayed        1/2       -     2/3         0        1',
    );
  });

  it('gives the reason of each failure, and lists nothing else', () => {
    const passed = { reason: 'unfit', in: ['relayed all'], checks: ['ping:b'] };
    expect(reasonsOf(runs, [...expected, passed])).toBe('  not built\n      relayed all (1)');
  });
});

it('the expected failures name existing sets and targets, each once', () => {
  const places = SETS.flatMap(({ name, targets }) => targets.map((target) => `${target} ${name}`));
  const all = readExpectations(packagePath('test', 'conformance', 'expected-failures.yaml'));
  expect(all.flatMap((one) => one.in).filter((place) => !places.includes(place))).toEqual([]);
  const each = all.flatMap((one) => one.in.flatMap((place) => one.checks.map((check) => `${place} ${check}`)));
  expect(each.filter((one, index) => each.indexOf(one) !== index)).toEqual([]);
});
