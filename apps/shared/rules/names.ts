import type { Match, Verb } from './rules.ts';

const CALLER_MEMBERS = ['subject', 'role', 'group', 'client'] as const;

/**
 * A name for a rule without one, made of what the rule matches: `approve files: write_*`, `allow read by role developer`. Conditions
 * appear without their values, which can be long.
 */
export function ruleName(
  verb: Verb,
  { server, tool, prompt, resource, effect, caller, where, when, not }: Match,
): string {
  const [named] = [tool, prompt, resource].filter((one) => one !== undefined);
  const what = [
    ...(effect === undefined ? [] : [effect.join(' or ')]),
    ...(server === undefined ? [] : [`${server.join(' or ')}${named === undefined ? '' : ':'}`]),
    ...(named === undefined ? [] : [named.join(' or ')]),
  ];
  const members = CALLER_MEMBERS.flatMap((name) => {
    const values = caller?.[name];
    return values === undefined ? [] : [`${name} ${values.join(' or ')}`];
  });
  const by = members.length === 0 ? [] : [`by ${members.join(' and ')}`];
  const on = where === undefined ? [] : [`with ${where.map(({ path }) => path.join('.')).join(' and ')}`];
  const within = when === undefined ? [] : ['at its hours'];
  const except = not === undefined ? [] : ['but not all'];
  const name = [verb, ...what, ...by, ...on, ...within, ...except].join(' ');
  return name.replaceAll(' + ', ' and ').slice(0, 80).toWellFormed();
}
