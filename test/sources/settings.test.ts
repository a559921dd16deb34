import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { parseConfig } from '../../apps/shared/config/config.ts';
import { packagePath } from '../../apps/shared/config/files.ts';
import { documents, sections, variables } from '../settings/documents.ts';
import { editorSchema } from '../settings/editor-schema.ts';

const read = (...path: string[]) => readFileSync(packagePath(...path), 'utf8');
const described = [
  ...sections().flatMap(({ name, about, rows }) => [
    [name, about] as const,
    ...rows.map(({ path, description }) => [path, description] as const),
  ]),
  ...variables().map(({ name, description }) => [name, description] as const),
];

describe('the settings', () => {
  it.each(Object.entries(documents()))('stand in %s as `npm run settings` writes them', (path, content) => {
    expect(read(path)).toBe(content);
  });

  it('are many, from every section', () => {
    expect(described.length).toBeGreaterThan(200);
    expect(sections().map(({ name }) => name)).toEqual(expect.arrayContaining(['gateway', 'approvals', 'identity']));
  });

  it('each have a description that ends with a full stop', () => {
    expect(described.filter(([, text]) => !/^[A-Z`].*\.$/.test(text))).toEqual([]);
  });

  it('are described in sentences of at most 25 words', () => {
    const sentences = described.flatMap(([name, text]) =>
      text.split(/(?<=[.:])\s+(?=[A-Z`])/).map((sentence) => [name, sentence] as const),
    );
    expect(sentences.filter(([, sentence]) => sentence.split(/\s+/).length > 25)).toEqual([]);
  });
});

/** Each YAML example of the documents that has settings at its top. */
const examples = ['.', 'docs', 'policies'].flatMap((folder) =>
  readdirSync(packagePath(folder))
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) =>
      [...read(folder, name).matchAll(/^```yaml\n(.*?)^```$/gms)].map(
        ([, text = ''], index) => [`${folder}/${name}`, index + 1, text] as const,
      ),
    )
    .filter(([, , text]) =>
      Object.keys(editorSchema().properties ?? {}).some(
        (name) => text.includes(`\n${name}:`) || text.startsWith(`${name}:`),
      ),
    ),
);

it('docs/configuration.md names each variable that the product reads from the environment', () => {
  const code = read('apps', 'shared', 'config', 'env.ts');
  const names = [...code.matchAll(/variables\['(\w+)'\]/g)].map(([, name = '']) => name);
  const ours = names.filter((name) => !['PATH', 'XDG_CACHE_HOME'].includes(name));
  expect(ours.length).toBeGreaterThan(4);
  expect(ours.filter((name) => !read('docs', 'configuration.md').includes(`\`${name}\``))).toEqual([]);
});

describe('the schema for editors', () => {
  const validate = new Ajv({ strict: false, allErrors: true }).compile(editorSchema());
  const faultsOf = (value: unknown) => (validate(value) ? [] : validate.errors);

  it('accepts the example configuration', () => {
    expect(faultsOf(parse(read('countersign.yaml')))).toEqual([]);
  });

  it('accepts servers as MCP hosts write them', () => {
    expect(faultsOf({ mcpServers: { a: { type: 'http', serverUrl: '${BANK_URL}', autoApprove: ['x'] } } })).toEqual([]);
    expect(faultsOf({ servers: { a: { command: 'npx', disabled: true } }, mode: 'development' })).toEqual([]);
  });

  it.each([
    [{ gateway: { port: 'http' } }],
    [{ gateways: {} }],
    [{ worker: { maxGenerations: 11 } }],
    [{ approvals: { templates: { a: {} } } }],
  ])('refuses %j', (value) => {
    expect(validate(value)).toBe(false);
  });
});

describe('the examples of the documents', () => {
  it('are many', () => {
    expect(examples.length).toBeGreaterThan(7);
  });

  it.each(examples)('%s, example %i, is a configuration that the product accepts', (_, __, text) => {
    expect(() =>
      parseConfig(parse(text.replaceAll(/\$\{\w+\}/g, 'whsec_example')), { baseDir: '/', stateDir: '/' }),
    ).not.toThrow();
  });
});
