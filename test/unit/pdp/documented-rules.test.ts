import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import * as z from 'zod';
import { createEvaluator } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { compileRule } from '../../../apps/pdp/rules/compile.ts';
import { schemaForRules } from '../../../apps/pdp/rules/schema.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { ruleSettings } from '../../../apps/shared/config/rule-settings.ts';
import { exceptionsTo, ruleFile } from '../../../apps/shared/rules/rules.ts';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { SMALL_SCHEMA, writing } from '../../support/compiled-rules.ts';

const PAGE = readFileSync(packagePath('docs', 'rules.md'), 'utf8');

/** The rules that the page shows under a heading. */
function shownUnder(heading: string): object[] {
  const [, block = ''] = new RegExp(`\\n#+ ${heading}\\n.*?\\n\`\`\`yaml\\n(.*?)\`\`\``, 's').exec(PAGE) ?? [];
  return (parse(block) as { rules: object[] }).rules;
}

/** What the rules under a heading, and others, say about a call. */
async function askUnder(heading: string, more: readonly object[] = []) {
  const rules = z.array(ruleSettings).parse([...shownUnder(heading), ...more]);
  const policies = rules.map((rule, index) => ({
    file: ruleFile(index),
    text: compileRule(rule, {}, exceptionsTo(rule, rules)),
  }));
  const evaluator = await createEvaluator({
    policies,
    schema: schemaForRules(SMALL_SCHEMA, rules, true),
    entities: '[]',
  });
  return (tool: string, args: JsonObject, more: { at?: string; effect?: string } = {}) => {
    const { context, ...request } = writing(args);
    const call = { tool, roles: [], ...(more.effect !== undefined && { effect: more.effect }) };
    const asked = { ...request, resource: { type: 'tool', id: tool }, context: { ...context, call } };
    return answerByPolicy(evaluator, asked, undefined, more.at === undefined ? undefined : Date.parse(more.at)).kind;
  };
}

describe('the rules that docs/rules.md shows', () => {
  it('about a folder, names and parts hold and refuse every spelling', async () => {
    const ask = await askUnder('Paths', [{ allow: '*' }]);
    const write = (path: string) => ask('files__write', { path });
    expect(['/srv/data/secrets/a', '/srv/data/pub', '/srv/data/.envs'].map(write)).toEqual([
      'requestable',
      'permit',
      'permit',
    ]);
    for (const path of ['/srv//data/./secrets', '//srv/data/secrets/a', '/srv/data/Secrets/a', 'a.txt'])
      expect([path, write(path)]).toEqual([path, 'requestable']);
    for (const path of [
      '/x/.env',
      '/x/.env/',
      '/x/prod.env/.',
      '/x/KEY.PEM',
      '/x/.git/config',
      '/x/a/.git/',
      '/x/.env::$DATA',
    ])
      expect([path, write(path)]).toEqual([path, 'deny']);
  });

  it('about hosts let only their pages pass', async () => {
    const ask = await askUnder('Addresses');
    const fetch = (url: string) => ask('web__fetch', { url });
    for (const url of ['https://docs.example/a?b=//c', 'https://DOCS.example:443', 'https://a.b.docs.example/x'])
      expect([url, fetch(url)]).toEqual([url, 'permit']);
    for (const url of [
      ...['https://docs.example@evil.example/', 'https://docs.example.evil.example/', 'https://evildocs.example/'],
      ...['https://evil.example/https://docs.example/', 'https://evil.example\\@docs.example/', 'http://docs.example/'],
      ...[
        'https://evil.example#@docs.example/',
        'https://evil.example%2f.docs.example/',
        'docs.example',
        'https:docs.example',
      ],
    ])
      expect([url, fetch(url)]).toEqual([url, 'deny']);
  });

  it('about office hours let a call pass then, and hold it at any other time', async () => {
    const ask = await askUnder('Hours');
    const deploy = (at: string) => ask('ops__deploy', {}, { at });
    expect(['2026-11-27T08:00Z', '2026-07-01T15:29Z'].map(deploy)).toEqual(['permit', 'permit']);
    const others = ['2026-11-27T07:59Z', '2026-11-27T16:30Z', '2026-11-28T10:00Z', '2026-07-01T15:30Z'];
    expect(others.map(deploy)).toEqual(others.map(() => 'requestable'));
  });

  it('about everything but production let only that pass', async () => {
    const ask = await askUnder('Everything but');
    const change = (environment: JsonObject[string] | undefined, tool = 'ops__apply') =>
      ask(tool, environment === undefined ? {} : { environment }, { effect: 'read' });
    expect(['dev', 'staging'].map((one) => change(one))).toEqual(['permit', 'permit']);
    for (const one of ['production', undefined, null, 7, ['production'], { name: 'production' }])
      expect([one, change(one)]).toEqual([one, 'deny']);
    const query = (one: JsonObject[string] | undefined) => change(one, 'db__query');
    expect([undefined, null, 'dev', 'production', 7].map(query)).toEqual([
      'permit',
      'permit',
      'permit',
      'deny',
      'deny',
    ]);
    const held = (tool: string, effect?: string) =>
      ask(tool, { environment: 'dev' }, effect === undefined ? {} : { effect });
    expect([
      held('ops__apply', 'write'),
      held('ops__apply'),
      held('ops__apply', 'read'),
      held('ops__list_all'),
    ]).toEqual(['requestable', 'requestable', 'permit', 'permit']);
  });
});
