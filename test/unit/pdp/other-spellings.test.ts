// cspell:disable -- texts with characters and escapes that look alike
import { describe, expect, it } from '@jest/globals';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import { compiledRules } from '../../support/compiled-rules.ts';

/** What becomes of calls with these values, where all other calls pass. */
async function outcomes(rule: object, values: readonly Json[]): Promise<string[]> {
  const rules = await compiledRules([{ allow: '*', name: 'all' }, rule]);
  try {
    return values.map((path) => rules.outcome({ path }));
  } finally {
    rules.release();
  }
}

const where = (condition: object) => ({ tool: '*', where: { path: condition } });
const all = (values: readonly Json[], outcome: string) => values.map(() => outcome);

const SECRET = [
  ...[
    '/srv/secrets/a',
    '/srv//secrets/a',
    '/srv/./secrets/a',
    '//srv/secrets/a',
    '///srv/secrets//a',
    '/./srv/secrets/a',
  ],
  ...[
    '/srv/secrets/a/',
    '/srv/secrets/a/.',
    '/srv/secrets',
    '/srv/secrets/',
    '/srv/pub/../secrets/a',
    '/../srv/secrets/a',
  ],
  ...[
    '/srv/Secrets/a',
    '/SRV/SECRETS/A',
    'srv/secrets/a',
    './secrets/a',
    '~/secrets/a',
    '~root/secrets/a',
    'secrets/a',
  ],
  ...[
    '/srv/%73ecrets/a',
    '/srv%2fsecrets/a',
    '\\srv\\secrets\\a',
    '/srv\\secrets/a',
    'C:\\srv\\secrets\\a',
    'file:///srv/secrets/a',
  ],
  ...[
    '/srv/secre\u200bts/a',
    '/srv/secrets\u0000/a',
    ' /srv/secrets/a',
    '/srv/secrets/a ',
    '',
    7,
    null,
    ['/srv/secrets/a'],
  ],
];
const OTHERS = [
  ...['/srv/pub/a', '/srv/pub/secrets', '/srv/secrets-and-more/a', '/srv//pub/./a/', '/srv/pub/2024-01-01T10:00.log'],
  ...['/srv/straße/ü', '/', '/srv', '/etc/passwd', '/srv/pub/a b', '/srv/pub/...', '/srv/报告（1）/a'],
];
const ENV = [
  ...[
    'pub/.env',
    'pub/.env/',
    'pub/.env//',
    'pub/.env/.',
    '/srv/pub/.env',
    'pub/prod.env',
    '.env',
    './.env',
    'pub//.env',
  ],
  ...[
    'a/../.env',
    '.ENV',
    'pub/.Env',
    'pub/.env.',
    'pub/.env ',
    'pub/.env::$DATA',
    'ENV~1',
    'pub\\.env',
    'C:\\pub\\.env',
  ],
  ...['.e\u200cnv', 'pub/%2eenv', '.env\u0000.txt', 'a/..', '~', '..', '.', '/', '', 7, null],
];
const NO_ENV = ['pub/a', '/srv/.env/a', 'env', 'pub/.env.local', 'C:\\pub\\a', 'a/../b', '~/a', 'C:/.env/a', '.envs'];

describe('every other spelling of a path', () => {
  const under = { path: { under: '/srv/secrets' } };
  const name = { path: { name: '*.env' } };

  it('in a folder meets the rule that holds or refuses it', async () => {
    expect(await outcomes({ approve: where(under) }, SECRET)).toEqual(all(SECRET, 'requestable'));
    expect(await outcomes({ deny: where(under) }, SECRET)).toEqual(all(SECRET, 'deny'));
    expect(await outcomes({ deny: where(under) }, OTHERS)).toEqual(all(OTHERS, 'permit'));
  });

  it('of a name meets the rule that refuses it', async () => {
    expect(await outcomes({ deny: where(name) }, ENV)).toEqual(all(ENV, 'deny'));
    expect(await outcomes({ deny: where(name) }, NO_ENV)).toEqual(all(NO_ENV, 'permit'));
  });

  it('is allowed only if it is certain to be the same', async () => {
    const rules = await compiledRules([{ allow: where(under) }, { allow: where(name), name: 'names' }]);
    const allowed = (values: readonly Json[]) => values.filter((path) => rules.outcome({ path }) === 'permit');
    const same = [...SECRET.slice(0, 10), '/../srv/secrets/a'].filter((path) => path !== '/srv/pub/../secrets/a');
    expect(allowed(SECRET)).toEqual(same);
    expect(allowed(ENV)).toEqual([...ENV.slice(0, 10), 'C:\\pub\\.env']);
    expect(allowed([...OTHERS, ...NO_ENV])).toEqual([]);
    rules.release();
  });

  it('has a part wherever the part stands', async () => {
    const part = { path: { part: '.git' } };
    const inside = [
      '.git',
      '.git/a',
      'a/.git/b',
      '/srv/x/.git/hooks/h',
      '/.git',
      'C:\\x\\.git\\a',
      'a/.GIT/b',
      'a/.git./b',
      'a/../.git',
    ];
    const outside = ['.gitignore', 'a/.github/b', '/srv/git', 'C:\\git\\x'];
    expect(await outcomes({ deny: where(part) }, inside)).toEqual(all(inside, 'deny'));
    expect(await outcomes({ deny: where(part) }, outside)).toEqual(all(outside, 'permit'));
  });

  it('on a drive has both separators, and any case where the operator says so', async () => {
    const windows = (more: object) => ({ path: { under: 'C:\\Work', ...more } });
    const same = ['C:\\Work\\a', 'c:/Work/a', 'C:\\\\Work\\.\\a', 'C:/Work'];
    const alike = ['C:\\WORK\\a', 'c:/work'];
    const unclear = [
      'C:Work\\a',
      'C:\\Work.\\a',
      'C:\\WORK~1\\a',
      'C:\\x\\..\\Work',
      '\\\\?\\C:\\Work\\a',
      '/Work/a',
      'Work\\a',
    ];
    const others = ['D:\\Work\\a', 'C:\\Workshop\\a', 'C:\\a'];
    expect(await outcomes({ deny: where(windows({})) }, [...same, ...alike, ...unclear])).not.toContain('permit');
    expect(await outcomes({ deny: where(windows({})) }, others)).toEqual(all(others, 'permit'));
    expect(await outcomes({ deny: where(windows({ ignoreCase: false })) }, alike)).toEqual(all(alike, 'permit'));
    for (const ignoreCase of [undefined, false, true]) {
      const rules = await compiledRules([{ allow: where(windows({ ignoreCase })) }]);
      const all7 = [...same, ...alike, ...unclear, ...others];
      expect(all7.filter((path) => rules.outcome({ path }) === 'permit')).toEqual([
        ...same,
        ...(ignoreCase ? alike : []),
      ]);
      rules.release();
    }
  });

  it('below a relative folder is compared with relative paths alone', async () => {
    const docs = { path: { under: 'docs' } };
    const rules = await compiledRules([{ allow: where(docs) }, { approve: where(docs), name: 'asks' }, { allow: '*' }]);
    const within = ['docs', 'docs/a', './docs//a/', '/srv/docs/a', '../docs', '~/docs', 'docs./a'];
    expect(within.map((path) => rules.outcome({ path }))).toEqual(all(within, 'requestable'));
    expect(['docs2/a', 'a/docs', '.'].map((path) => rules.outcome({ path }))).toEqual(all(['', '', ''], 'permit'));
    rules.release();
  });
});

describe('a text with a second spelling', () => {
  const SECOND = [
    ...[
      '/srv//a',
      '/srv/./a',
      '/srv/a/',
      '//srv/a',
      '/srv/a/.',
      './a',
      'a/',
      '/',
      '/srv/../a',
      '..',
      '/srv/%2e/a',
      '/srv%2Fa',
    ],
    ...[
      'a\\b',
      '/srv/a%5c',
      '/srv/e\u0301',
      'https://h.test//a',
      'https://h.test/a/../b',
      'HTTPS://h.test/a',
      'https://h.test:443/a',
    ],
    ...[
      'https://x@h.test/',
      'https://h.test./a',
      'https://h.test\\a',
      'https://h.test/%2e%2e/a',
      'https:///h.test/a',
      'https://H.test/a',
    ],
  ];
  const ONE = [
    '/srv/a',
    'a',
    '',
    'main',
    'a b',
    'https://h.test/',
    'https://h.test/a/b/',
    'https://h.test/a?x=//y',
    'dana@example.com',
    '/srv/é',
  ];

  it('cannot be tested by a pattern', async () => {
    expect(await outcomes({ deny: where({ like: 'no such text' }) }, SECOND)).toEqual(all(SECOND, 'deny'));
    expect(await outcomes({ approve: where({ like: 'no such text' }) }, SECOND)).toEqual(all(SECOND, 'requestable'));
    expect(await outcomes({ deny: where({ like: 'no such text' }) }, ONE)).toEqual(all(ONE, 'permit'));
    const rules = await compiledRules([{ allow: where({ like: '*' }) }]);
    expect([...SECOND, ...ONE].filter((path) => rules.outcome({ path }) === 'permit')).toEqual(ONE);
    rules.release();
  });

  it('is compared without case where the operator says so', async () => {
    const values = ['MAIN', 'Main', 'main'];
    expect(await outcomes({ deny: where({ like: 'm*', ignoreCase: true }) }, values)).toEqual(all(values, 'deny'));
    expect(await outcomes({ deny: where({ like: 'm*' }) }, values)).toEqual(['permit', 'permit', 'deny']);
  });

  it('is compared as it is where a value is named', async () => {
    expect(await outcomes({ deny: where({ equal: 'a/' }) }, ['a/', 'a', 'a//'])).toEqual(['deny', 'permit', 'permit']);
  });
});
