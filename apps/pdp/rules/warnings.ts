import { conditionsIn, matchesIn, type Rule, ruleFile } from '../../shared/rules/rules.ts';
import type { PolicyProblem } from '../engine/cedar/problems.ts';

/** The scheme of an address in a pattern, and what stands between it and the first single slash. */
const AUTHORITY = /^([a-z*][a-z0-9+.*-]*):\/\/([^/]*)/i;

/** What a pattern of an `allow` rule lets pass beside what its author means. Undefined if nothing is known. */
function widthOf(pattern: string): string | undefined {
  const [, scheme = '', authority = ''] = AUTHORITY.exec(pattern) ?? [];
  if (`${scheme}${authority}`.includes('*'))
    return 'fits addresses of any host, because a star stands before the first single slash';
  if (/\*.*@/.test(pattern)) return 'fits texts with several addresses, and with an @ before that one';
  return undefined;
}

/** Likely mistakes of `allow` rules, each at its rule. */
export function ruleWarnings(rules: readonly Rule[]): PolicyProblem[] {
  return rules.flatMap(({ verb, match, name }, index) => {
    if (verb !== 'allow') return [];
    const patterns = matchesIn(match).flatMap(({ where = [], resource = [] }) => [
      ...resource,
      ...conditionsIn(where.flatMap(({ conditions }) => conditions)).flatMap((one) =>
        one.kind === 'like' ? [one.pattern] : [],
      ),
    ]);
    return patterns.flatMap((pattern) => {
      const width = widthOf(pattern);
      if (width === undefined) return [];
      const instead =
        match.resource === undefined && pattern.includes('://')
          ? 'use url: { host: … }'
          : 'name what you mean in whole';
      return [
        {
          file: ruleFile(index),
          message: `the pattern ${JSON.stringify(pattern)} of the rule "${name}" ${width}; ${instead}`,
        },
      ];
    });
  });
}
