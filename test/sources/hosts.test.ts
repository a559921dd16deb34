import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { packagePath } from '../../apps/shared/config/files.ts';
import { HOSTS } from '../hosts/hosts.ts';
import type { Row } from '../hosts/row.ts';
import { documented } from '../hosts/table.ts';

const LONGEST_DRIVER = 60;
const DRIVERS = packagePath('test', 'hosts', 'drivers');
const document = readFileSync(packagePath('docs', 'hosts.md'), 'utf8');
const results = JSON.parse(readFileSync(packagePath('test', 'hosts', 'results.json'), 'utf8')) as Row[];

it('the tables of docs/hosts.md are those of the recorded results', () => {
  expect(document).toBe(documented(document, HOSTS, results));
});

it('each client of the matrix has a result of its version', () => {
  const versions = (of: readonly { name: string; version: string }[]) => of.map(({ name, version }) => [name, version]);
  expect(versions(results)).toEqual(versions(HOSTS));
});

it('at least twelve clients of five languages took every step', () => {
  const passed = HOSTS.filter(({ name }) => results.some((row) => row.name === name && row.outcome === 'passed'));
  expect(passed.length).toBeGreaterThanOrEqual(12);
  const languages = new Set(passed.map(({ language }) => language));
  expect([...languages]).toEqual(expect.arrayContaining(['TypeScript', 'Python', 'Go', 'Java', 'Rust']));
});

it('a client that did not take every step has a reason', () => {
  expect(results.filter(({ outcome, reason = '' }) => outcome !== 'passed' && reason === '')).toEqual([]);
});

it.each(readdirSync(DRIVERS).filter((name) => !name.startsWith('common')))(
  'the driver %s shows in at most 60 lines how its client is used',
  (name) => {
    const lines = readFileSync(`${DRIVERS}/${name}`, 'utf8').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(LONGEST_DRIVER);
  },
);
