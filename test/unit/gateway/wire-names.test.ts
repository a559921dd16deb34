import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import * as names from '../../../apps/gateway/wire/identifiers.ts';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { sourceFiles } from '../../support/source-files.ts';

/** @see MCP 2026-07-28, `_meta` */
const LABEL = '[a-zA-Z](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const META_KEY = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*/)?[a-zA-Z0-9](?:[a-zA-Z0-9._-]*[a-zA-Z0-9])?$`);
/** Keys that the protocol, and the drafts that we follow, define under a prefix of the protocol. */
const GIVEN_OUT = ['authorization', 'tool-approval-disposition', 'model-immediate-response'];

const metaKeys = Object.entries(names).flatMap(([name, value]) => {
  if (name === 'HINT_META') return Object.values(value as Record<string, string>);
  return name.endsWith('_META') ? [value as string] : [];
});

it('keys of `_meta` keep to the grammar, and ours are under no prefix of the protocol [STATELESS-026]', () => {
  expect(metaKeys.length).toBeGreaterThan(10);
  expect(metaKeys.filter((key) => !META_KEY.test(key))).toEqual([]);
  const isReserved = (key: string) => /^[^./]+\.(?:modelcontextprotocol|mcp)[./]/.test(key);
  const reserved = metaKeys.filter(isReserved).map((key) => key.slice(key.indexOf('/') + 1));
  expect(reserved.filter((key) => !GIVEN_OUT.includes(key))).toEqual([]);
  expect(isReserved(names.OWN_META_PREFIX)).toBe(false);
});

/** Every text in the sources of the product that has one of these forms. */
function textsLike(form: RegExp): string[] {
  const found = sourceFiles(['apps', 'activities', 'workflows']).flatMap((file) =>
    [...readFileSync(packagePath(file), 'utf8').matchAll(form)].map(([text]) => text),
  );
  return [...new Set(found)].toSorted();
}

it('the prefixes and the discriminator of tasks stand for the tasks extension alone [TASK-100]', () => {
  expect(textsLike(/'(?:notifications\/)?tasks\/?[^' ]*'/g)).toEqual([
    "'notifications/tasks'",
    "'tasks/'",
    "'tasks/cancel'",
    "'tasks/get'",
    // Of earlier revisions: listed only so that they can be recognised and refused.
    "'tasks/list'",
    "'tasks/result'",
    "'tasks/update'",
  ]);
});
