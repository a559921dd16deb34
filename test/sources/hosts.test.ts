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

const SCREENS = packagePath('test', 'hosts', 'screens');
const PAGE = /\/calls\/req_[0-9a-f]{32}/;
const screens: readonly (readonly [string, readonly RegExp[]])[] = [
  ['asked', [/wants to open a URL/, PAGE, /❯ Open in browser/]],
  ['waiting', [/Status: +working/, PAGE]],
  ['approved', [/MCP task tsk_\w+ \(countersign\/files__write_file\) completed/, /Successfully wrote/]],
  ['resumed', [/completed\.[^]+completed\./, /Successfully wrote to \S+-late\.txt/]],
];

it('the recorded screens of a held call are those of its four states', () => {
  expect(readdirSync(SCREENS).toSorted()).toEqual(screens.map(([state]) => `${state}.txt`).toSorted());
});

it.each(screens)(
  'the terminal in the state %s shows what docs/hosts.md says of it, and its picture is there',
  (state, parts) => {
    const text = readFileSync(`${SCREENS}/${state}.txt`, 'utf8');
    for (const part of parts) expect(text).toMatch(part);
    expect(document).toContain(`pictures/claude-code-${state}.png`);
  },
);

const EXAMPLES = packagePath('examples', 'agents');
const LONGEST_EXAMPLE = 59;
const examples = readdirSync(EXAMPLES);
const exampleText = (name: string) => readFileSync(`${EXAMPLES}/${name}`, 'utf8');

it.each(examples)('the example %s has fewer than 60 lines', (name) => {
  expect(exampleText(name).trimEnd().split('\n').length).toBeLessThanOrEqual(LONGEST_EXAMPLE);
});

it.each(examples)('the example %s begins with what to install and how to run it', (name) => {
  const beginning = exampleText(name).split('\n').slice(0, 8).join('\n');
  expect(beginning).toMatch(/(pip|npm) install .*\d/);
  expect(beginning).toMatch(new RegExp(`(python|node) ${name} `));
});

it.each(examples)('the example %s is a client of the matrix, and stands in docs/examples.md', (name) => {
  const [base = ''] = name.split('.');
  expect(HOSTS.map((host) => host.name)).toContain(`example-${base.replaceAll('_', '-')}`);
  expect(readFileSync(packagePath('docs', 'examples.md'), 'utf8')).toContain(`../examples/agents/${name}`);
});
