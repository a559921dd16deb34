import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { packagePath } from '../../apps/shared/config/files.ts';
import { sourceFiles } from '../support/source-files.ts';
import { statementsOf, VICTIMS } from '../crash/steps.ts';

const sources = sourceFiles(['apps', 'activities'])
  .map((file) => readFileSync(packagePath(file), 'utf8'))
  .join('\n');

/**
 * The possible spellings of a statement's name in the sources: the whole name, or the part behind the prefix of its
 * store or schema, which may be the name of a function.
 */
const spellings = (name: string) => {
  const rest = name.slice(name.indexOf('-') + 1);
  return [
    `'${name}'`,
    `'${rest}'`,
    `'${rest.replaceAll('-', '_')}'`,
    `\${schema}-${rest.replace(/^outbox-/, '${table}-')}\``,
  ];
};

it.each(VICTIMS.flatMap((victim) => [...statementsOf(victim)].map(([name, step]) => [step, victim, name] as const)))(
  '%s of the %s breaks an existing statement of the product: %s',
  (_step, _victim, name) => {
    expect(spellings(name).filter((one) => sources.includes(one))).not.toEqual([]);
  },
);
