import { describe, expect, it } from '@jest/globals';
import { isAmbiguous, MAX_MEMBERS, unfaithful } from '../../../workflows/domain/faithful-json.ts';

describe('a text that is read as it is written', () => {
  it.each([
    '{}',
    '[]',
    '"a"',
    '{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}',
    '{"a":"\\"b\\":1,\\"b\\":2","b":"{\\"b\\":1}"}',
    '{"a":"9007199254740993"}',
    '{"a":9007199254740992,"b":-9007199254740991,"c":1e22,"d":1e300,"e":1.5e21,"f":100000000000000000000}',
    '{"a":0.1000000000000000055,"b":-0,"c":5e-324,"d":3.141592653589793238,"e":0.0}',
    '{"a" : 1 ,\n "A":1}',
    '{"constructor":2,"prototype":"__proto__"}',
    '{"a":"\\ud83d\\ude00","b":"\\\\ud800"}',
    // The text is not JSON: the parser says so.
    '{"a":-}',
    '{"a',
    '}}}{{{',
    '',
  ])('%s', (text) => {
    expect(unfaithful(text)).toBeUndefined();
  });
});

describe('a text that is read differently', () => {
  it.each([
    ['{"a":1,"a":1}', 'body.member_twice'],
    ['{"a":1,"\\u0061":2}', 'body.member_twice'],
    ['{"x":[{"a":{"b":1,"c":2,"b":3}}]}', 'body.member_twice'],
    ['{"__proto__":1}', 'body.member_lost'],
    ['{"a":{"\\u005f_proto__":1}}', 'body.member_lost'],
    ['{"":1 , "" : 2}', 'body.member_twice'],
    ['{"a":9007199254740993}', 'body.number_inexact'],
    ['[-9007199254740993]', 'body.number_inexact'],
    ['{"a":9007199254740993.0}', 'body.number_inexact'],
    ['{"a":9007199254740993e0}', 'body.number_inexact'],
    ['{"a":295147905179352825856}', 'body.number_inexact'],
    ['12345678901234567890', 'body.number_inexact'],
    ['{"a":1e400}', 'body.number_inexact'],
    ['[-1e309]', 'body.number_inexact'],
    ['\uFEFF{}', 'body.marked'],
    ['"\\ud800"', 'body.character_broken'],
    ['{"a\\udc00":1}', 'body.character_broken'],
    ['["\\ude00\\ud83d"]', 'body.character_broken'],
  ])('%s', (text, why) => {
    expect(unfaithful(text)).toBe(why);
  });
});

it('has two hundred levels at most, of any kind', () => {
  const nested = (levels: number, [open, close]: readonly [string, string]) =>
    unfaithful(open.repeat(levels) + close.repeat(levels));
  for (const brackets of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    expect([nested(200, brackets), nested(201, brackets)]).toEqual([undefined, 'body.too_deep']);
  }
  expect(unfaithful(`["${'['.repeat(201)}"${',[]'.repeat(201)}]`)).toBeUndefined();
});

describe('has ten thousand members and elements at most', () => {
  const list = (one: string, count: number) => `[${Array.from({ length: count }, () => one).join()}]`;
  const object = (count: number) => `{${Array.from({ length: count }, (_, index) => `"${index}":null`).join()}}`;
  it.each<[what: string, of: (count: number) => string]>([
    ['null', (count) => list('null', count)],
    ['numbers', (count) => list('1', count)],
    ['strings', (count) => list('"a"', count)],
    ['empty lists', (count) => list('[]', count)],
    ['members', object],
    ['objects with a member', (count) => list('{"a":1}', count / 2)],
    ['members of an object in a list', (count) => `[${object(count - 1)}]`],
  ])('%s', (_what, of) => {
    expect([unfaithful(of(10_000)), unfaithful(of(10_002))]).toEqual([undefined, 'body.too_many']);
  });

  it('and more in an answer of a service', () => {
    expect(unfaithful(list('1', 50_000), MAX_MEMBERS.service)).toBeUndefined();
    expect([isAmbiguous(list('1', 50_000)), isAmbiguous(list('1', 50_001))]).toEqual([false, true]);
  });

  it.each(['"a":', '1 ', ']', '}', 'null '])('also in text that is not JSON: %s', (one) => {
    const text = one.repeat(1_000_000);
    expect(unfaithful(text)).toBe(/[\]}]/.test(one) ? undefined : 'body.too_many');
  });
});

it('takes time in proportion to the length of its text', () => {
  const text = `{${Array.from({ length: 200_000 }, (_, index) => `"k${index}":${index}`).join(',')}}`;
  // The work counts, not the time that a busy machine takes for it.
  const work = () => {
    const began = process.cpuUsage();
    expect(unfaithful(text, 1_000_000)).toBeUndefined();
    expect(unfaithful('"'.repeat(1_000_000), 1_000_000)).toBeUndefined();
    expect(unfaithful(`"${'\\'.repeat(1_000_001)}`)).toBeUndefined();
    expect(unfaithful(`"${'\\"'.repeat(200_000)}`)).toBeUndefined();
    expect(unfaithful(`"${'\\"'.repeat(200_000)}\\`)).toBeUndefined();
    expect(unfaithful('9'.repeat(1_000_000))).toBe('body.number_inexact');
    expect(unfaithful(`9007199254740993.${'0'.repeat(1_000_000)}1`)).toBe('body.number_inexact');
    expect(unfaithful(`9007199254740993.${'01'.repeat(500_000)}`)).toBe('body.number_inexact');
    return process.cpuUsage(began).user / 1_000;
  };
  // A processor that stood still may count as having worked; it does not do so every time.
  const isQuick = () => work() < 10_000;
  expect(isQuick() || isQuick() || isQuick()).toBe(true);
});

describe('an ambiguous text', () => {
  it.each(['{"a":1,"a":2}', '[{"b":{"a":1,"\\u0061":1}}]', '{"n":123456789012345678901,"a":1,"a":2}', '['.repeat(300)])(
    'is found, even with other faults: %s',
    (text) => expect(isAmbiguous(text)).toBe(true),
  );

  it.each(['{"a":[{"a":1},{"a":1}]}', '{"n":123456789012345678901}', '{"__proto__":1}', 'no JSON', ''])(
    'does not include %s',
    (text) => expect(isAmbiguous(text)).toBe(false),
  );
});
