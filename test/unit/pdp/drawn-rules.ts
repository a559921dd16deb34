import fc from 'fast-check';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import { EFFECTS } from '../../../workflows/domain/tools/tool-facts.ts';
import { FOLDERS, TEXTS } from './known-texts.ts';
import type { WrittenRule } from './rules-model.ts';

/** Draws rules, and calls that they are about. */

const NUMBERS = [0, 1, -1, 0.1, 0.0001, 0.00001, -0.00001, 2.5, 1e-7, 100, 899_999_999_999_999, 1e18, -1e18];
const NAMED_NUMBERS = NUMBERS.filter((one) => Math.abs(one) <= 9e14 && Number(one.toFixed(4)) === one);
const PATHS = ['path', 'n', 'target.path', 'a"b', 'ü'];
const TOOLS = ['files__read', 'files__write', 'mail__send', 'bare', 'files__*'];
const SERVERS = ['files', 'mail', 'plain'];

const scalar = fc.oneof(fc.constantFrom(...Object.keys(TEXTS)), fc.constantFrom(...NAMED_NUMBERS), fc.boolean());
const pattern = fc.constantFrom('*', 'files__*', '*read', 'send', 'w*e', 'bare', '*a*', 'read');
const oneOrMore = <T>(item: fc.Arbitrary<T>) => fc.oneof(item, fc.array(item, { minLength: 1, maxLength: 3 }));
const textPattern = fc.constantFrom('*', '/srv/*', 'a*', '*b', '*/x', 'main', '*"*');

const ignoreCase = fc.option(fc.boolean(), { nil: undefined });
const atLeastOne = (tests: object) =>
  Object.entries(tests).some(([name, one]) => name !== 'ignoreCase' && one !== undefined);
const path = fc
  .record(
    {
      under: oneOrMore(fc.constantFrom(...Object.keys(FOLDERS))),
      name: oneOrMore(fc.constantFrom('x', '*', 'X', 'm*')),
      part: oneOrMore(fc.constantFrom('srv', 'a', 'main')),
      ignoreCase,
    },
    { requiredKeys: [] },
  )
  .filter(atLeastOne);
const url = fc
  .record(
    {
      scheme: oneOrMore(fc.constantFrom('https', 'http')),
      host: oneOrMore(fc.constantFrom('h.test', '*.h.test', 'e.test')),
      port: oneOrMore(fc.constantFrom(443, 8080)),
      path: fc.record({ under: oneOrMore(fc.constantFrom('/srv', '/SRV', '/a')), ignoreCase }),
    },
    { requiredKeys: [] },
  )
  .filter(atLeastOne);

const plainCondition = fc.oneof(
  scalar,
  fc.array(scalar, { minLength: 1, maxLength: 3 }),
  fc
    .record(
      {
        equal: scalar,
        oneOf: fc.array(scalar, { minLength: 1, maxLength: 3 }),
        like: textPattern,
        path,
        url,
        over: fc.constantFrom(...NAMED_NUMBERS),
        under: fc.constantFrom(...NAMED_NUMBERS),
        present: fc.boolean(),
      },
      { requiredKeys: [] },
    )
    .filter((tests) => Object.keys(tests).length > 0),
);

/** A condition on one argument, as an author writes it. */
export const condition: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: plainCondition as fc.Arbitrary<Json> },
  { weight: 1, arbitrary: plainCondition.map((not) => ({ not }) as Json) },
  { weight: 1, arbitrary: plainCondition.map((one) => ({ anyOf: [{ present: false }, { not: one }] }) as Json) },
  {
    weight: 1,
    arbitrary: fc.array(plainCondition, { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf }) as Json),
  },
);

const caller = fc
  .record(
    {
      subject: oneOrMore(fc.constantFrom('alice', 'bob', 'a*', '*')),
      role: oneOrMore(fc.constantFrom('developer', 'admin')),
      group: oneOrMore(fc.constantFrom('finance', 'ops')),
      client: oneOrMore(fc.constantFrom('cli', 'host-*')),
    },
    { requiredKeys: [] },
  )
  .filter((members) => Object.keys(members).length > 0);

const whole = fc
  .record(
    {
      server: oneOrMore(fc.constantFrom(...SERVERS)),
      tool: oneOrMore(pattern),
      effect: oneOrMore(fc.constantFrom(...EFFECTS)),
      caller,
      where: fc.dictionary(fc.constantFrom(...PATHS), condition, { minKeys: 1, maxKeys: 2 }),
    },
    { requiredKeys: [] },
  )
  .filter(({ server, tool, effect }) => [server, tool, effect].some((one) => one !== undefined));

const excluded = fc.oneof(
  pattern,
  fc.record({ effect: oneOrMore(fc.constantFrom(...EFFECTS)) }),
  fc.record({ where: fc.dictionary(fc.constantFrom(...PATHS), condition, { minKeys: 1, maxKeys: 2 }) }),
  fc.record({ caller, server: oneOrMore(fc.constantFrom(...SERVERS)) }),
);

const match = fc.oneof(
  oneOrMore(pattern),
  whole,
  fc.tuple(whole, oneOrMore(excluded)).map(([all, not]) => ({ ...all, not })),
);

/** Other rules than `approve` rules may bear these names, and then they mean nothing. */
const insteadOf = fc.option(oneOrMore(fc.constantFrom('rule 0', 'rule 1', 'rule 2')), { freq: 2, nil: undefined });

const by = fc.option(fc.oneof(fc.constant('board'), fc.constant({ people: 'carol' })), { nil: undefined });

/** Rules as an author writes them, each with a name. */
export const ruleSets: fc.Arbitrary<readonly WrittenRule[]> = fc
  .array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.tuple(match, insteadOf).map(([allow, one]) => ({ allow, ...(one && { insteadOf: one }) })),
      },
      { weight: 3, arbitrary: fc.tuple(match, by).map(([approve, who]) => ({ approve, ...(who && { by: who }) })) },
      { weight: 1, arbitrary: match.map((deny) => ({ deny })) },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((rules) => rules.map((rule, index) => ({ ...rule, name: `rule ${index}` })));

/** The value of an argument. */
export const value = fc.oneof(
  fc.constantFrom(...Object.keys(TEXTS)),
  fc.constantFrom(...NUMBERS),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom<Json>([], ['a'], { path: 'a' }, { path: '/srv/x' }, { path: 1 }),
);

/** Requests as the gateway makes them. */
export const requests: fc.Arbitrary<EvaluationRequest> = fc
  .record({
    subject: fc.constantFrom('alice', 'bob', 'zoe'),
    tool: fc.constantFrom(...TOOLS),
    server: fc.constantFrom(...SERVERS),
    effect: fc.option(fc.constantFrom(...EFFECTS), { nil: undefined }),
    roles: fc.subarray(['developer', 'admin']),
    agent: fc.option(fc.constantFrom('cli', 'host-1'), { nil: undefined }),
    arguments: fc.dictionary(fc.constantFrom('path', 'n', 'target', 'a"b', 'ü'), value, { maxKeys: 4 }),
  })
  .map(({ subject, tool, server, effect, roles, agent, arguments: given }) => ({
    subject: { type: 'identity', id: subject },
    action: { name: 'tools/call' },
    resource: { type: 'tool', id: tool },
    context: {
      ...(agent !== undefined && { agent }),
      call: { tool, server, ...(effect !== undefined && { effect }), roles },
      arguments: given,
    },
  }));
