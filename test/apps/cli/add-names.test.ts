import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadCurrent } from '../../../apps/pdp/engine/cedar/version.ts';
import { configuredPlaces } from '../../../apps/cli/commands/lint/policies.ts';
import { requestOf } from '../../../apps/cli/commands/policy/call-options.ts';
import { withAdditions } from '../../../apps/cli/configuration/additions.ts';
import { newConfiguration, USUAL_CHOICES } from '../../../apps/cli/configuration/new-configuration.ts';
import { readEnvironment } from '../../../apps/shared/config/env.ts';
import { loadConfig } from '../../../apps/shared/config/load.ts';
import { isWritable } from '../../../apps/shared/rules/literal.ts';
import { startDescribedUpstream } from '../../support/described-upstream.ts';
import { times } from '../../support/regime.ts';
import { type Desk, emptyDesk } from './run.ts';

/** What the policy decision point of this configuration answers to calls of tools of the server, by the names that the server has. */
async function decisions(desk: Desk, names: readonly string[], server = 'evil'): Promise<Record<string, string>> {
  const environment = readEnvironment({ COUNTERSIGN_STATE: desk.stateDir, HOME: '/home/me' });
  const { config } = loadConfig({ environment, cwd: desk.folder });
  const { prefix = server } = config.mcpServers[server] ?? {};
  const version = await loadCurrent(configuredPlaces(config));
  const before = prefix === '' ? '' : `${prefix}__`;
  const answers = names.map(async (name) => {
    const request = requestOf({ tool: `${before}${name}` }, config);
    const call = { ...(request.context['call'] as object), server };
    return [name, await version.answer({ ...request, context: { ...request.context, call } })] as const;
  });
  const decided = await Promise.all(answers);
  version.evaluator.release();
  return Object.fromEntries(decided.map(([name, { kind }]) => [name, kind]));
}

const aTool = (name: string, annotations = {}) => ({ name, inputSchema: { type: 'object' }, annotations });
const READS = { readOnlyHint: true, openWorldHint: false };
/** Each of these names means other tools too, if it is read as a pattern or has variables replaced. */
const HOSTILE = ['*', 'dump\\*', '\\*', 'a*', 'b\\', 'c\\\\', '**', 'null', '~', '0123', 'x: y', '- z', '#', '"', '<<'];
const VARIABLES = ['drop${X:-}', 'drop${env:X:-}', '${HOME}', 'say_${COUNTERSIGN_STATE}'];
const OTHERS = ['dump_all', 'drop', 'dumps', 'abc', 'b', 'c\\', 'x', '123', '/home/me', ''];

describe('names that a server gives its tools', () => {
  it('match no other tool: neither by stars, nor by backslashes, nor by variables', async () => {
    const reading = [...HOSTILE, ...VARIABLES];
    const listed = [...reading.map((name) => aTool(name, READS)), aTool('pay'), aTool('w*')];
    const upstream = await startDescribedUpstream(listed);
    const desk = emptyDesk();
    const { code, err } = await desk.run(['add', 'evil', '--url', upstream.url, '--yes']);
    await upstream.close();
    expect([code, err]).toEqual([0, expect.stringMatching(/^evil__\*.* allow /m)]);
    const expected = [
      ...HOSTILE.map((name) => [name, 'permit']),
      ...[...VARIABLES, ...OTHERS, 'wipe'].map((name) => [name, 'deny']),
      ...['pay', 'w*'].map((name) => [name, 'requestable']),
    ];
    const asked = [...listed.map(({ name }) => name), ...OTHERS, 'wipe'];
    expect(await decisions(desk, asked)).toEqual(Object.fromEntries(expected));
    expect(err).toMatch(/^evil__drop\$\{X:-\}.* none .*a rule cannot name it/m);
  });

  it('decide, through file and policy decision point, about exactly these tools', async () => {
    const pieces = fc.constantFrom(
      '*',
      '\\',
      '${',
      '}',
      ':-',
      'A',
      'b',
      '_',
      '-',
      '.',
      ' ',
      '\n',
      '"',
      "'",
      '#',
      ': ',
      '😀',
      '\u202e',
      '\u0085',
    );
    const drawn = fc.oneof(
      fc.string({ unit: pieces, minLength: 1, maxLength: 8 }),
      fc.string({ unit: 'binary', minLength: 1 }),
    );
    const names = fc.uniqueArray(drawn, { minLength: 1, maxLength: 8 });
    const property = fc.asyncProperty(names, names, fc.constantFrom('', 'evil'), async (mine, others, prefix) => {
      const written = mine.filter(isWritable);
      fc.pre(written.length > 0);
      const [allow, approve] = [
        written.filter((_, index) => index % 2 === 0),
        written.filter((_, index) => index % 2 === 1),
      ];
      const server = { command: 'x', prefix };
      const effects = written.map((name) => [`${prefix === '' ? '' : 'evil__'}${name}`, 'write'] as const);
      const desk = emptyDesk();
      const text = withAdditions(newConfiguration(USUAL_CHOICES), [
        { name: 'evil', server, effects, rules: { allow, approve } },
      ]);
      writeFileSync(join(desk.folder, 'countersign.yaml'), text);
      const verdict = (name: string) =>
        allow.includes(name) ? 'permit' : approve.includes(name) ? 'requestable' : 'deny';
      const asked = [
        ...new Set([
          ...mine,
          ...others,
          ...mine.map((name) => name.replaceAll('*', 'x')),
          ...mine.map((name) => name.slice(1)),
        ]),
      ];
      const whole = asked.filter((name) => name.isWellFormed());
      expect(await decisions(desk, whole)).toEqual(Object.fromEntries(whole.map((name) => [name, verdict(name)])));
    });
    await fc.assert(property, { numRuns: times(40, 2_000) });
  });
});

describe('names that most models refuse', () => {
  const LONG = 'a'.repeat(60);

  it.each([
    ['too long with the prefix', LONG, /longer than 64 characters; set `prefix: ev`/],
    ['too long by itself', 'b'.repeat(80), /only the server can shorten them/],
    ['with a blank', 'get repos', /other characters than letters/],
    ['with a slash', 'repos/get', /other characters than letters/],
    ['with an umlaut', 'gr\u00f6ss', /other characters than letters/],
    ['with a dot', 'repos.get', /other characters than letters/],
  ])('are named by add and by lint: %s', async (_what, name, said) => {
    const upstream = await startDescribedUpstream([aTool(name), aTool('fine')]);
    const desk = emptyDesk();
    const { code, err } = await desk.run(['add', 'evil', '--url', upstream.url, '--yes']);
    const lint = await desk.run(['lint', '--json']);
    await upstream.close();
    expect([code, err]).toEqual([0, expect.stringMatching(said)]);
    expect(err.match(/^warning: many models refuse/gm)).toHaveLength(1);
    const named = JSON.parse(lint.out).findings.filter((one: { rule: string }) => one.rule === 'name');
    expect(named).toEqual([expect.objectContaining({ severity: 'warning', about: `evil__${name}` })]);
  });
});
