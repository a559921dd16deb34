// cspell:disable -- texts with characters and escapes that look alike
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parse } from 'node:url';
import { expect } from '@jest/globals';
import fc from 'fast-check';
import { compiledRules } from '../../support/compiled-rules.ts';

/** What a real disk, or real readers of addresses, found out about the drawn spellings. */
export interface Figures {
  /** Spellings that name what a rule is about. */
  readonly meant: number;
  /** Those of them that are written in another way than the rule. */
  readonly respelled: number;
  /** Calls that passed, each of which a rule allows. */
  readonly passed: number;
  /** Calls that passed although a rule holds or refuses them. */
  readonly evaded: number;
}

const some = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const NAMES = [
  'secrets',
  'pub',
  'a',
  'b',
  '.env',
  'prod.env',
  'Secrets',
  'SECRETS',
  '.ENV',
  'sécrets',
  'se\u0301crets',
  '.git',
];
const JOINTS = ['/', '/', '/', '//', '/./', '/../', '/pub/../', '///', '\\', '/.', '%2f', '/x/../../'];
const ENDS = ['', '', '', '/', '//', '/.', '/..', ' ', '.', '\u0000', '/./', '::$DATA', '\u200b'];
const STARTS = ['', '', '', './', '/', '//', '~/', '/..', ' ', '/.'];

/** Texts that a server may open, below an absolute folder, or as a relative path. */
const spelledPaths = fc
  .record({
    isAbsolute: fc.boolean(),
    start: some(...STARTS),
    parts: fc.array(fc.tuple(some(...JOINTS), some(...NAMES)), { minLength: 1, maxLength: 4 }),
    end: some(...ENDS),
  })
  .map(({ isAbsolute, start, parts, end }) => (folder: string) => {
    const [[, first] = ['', ''], ...others] = parts;
    const rest = `${first}${others.flat().join('')}${end}`;
    return isAbsolute ? `${start}${folder}${others.length % 2 === 0 ? '/' : '//'}${rest}` : `${start}${rest}`;
  });

/**
 * Writes to drawn spellings of paths on the real disk, and compares what they open with what the compiled rules say. A relative path is
 * opened in the folder, as a server with this working folder does.
 */
export async function tryPaths(draws: number): Promise<Figures> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-spellings-')));
  for (const name of ['secrets/pub', 'pub/secrets', 'pub/pub', 'Secrets', 'sécrets', 'pub/.git'])
    mkdirSync(join(folder, name), { recursive: true });
  const guarded = await compiledRules([
    { allow: '*' },
    { approve: { tool: '*', where: { path: { path: { under: `${folder}/secrets` } } } } },
    { deny: { tool: '*', where: { path: { path: { name: '*.env' } } } }, name: 'names' },
    { deny: { tool: '*', where: { path: { path: { part: '.git' } } } }, name: 'parts' },
  ]);
  const limited = await compiledRules([
    { allow: { tool: '*', where: { path: { path: { under: `${folder}/pub` } } } } },
  ]);
  const found = { meant: 0, respelled: 0, passed: 0, evaded: 0 };
  try {
    fc.assert(
      fc.property(spelledPaths, (spelled) => {
        const text = spelled(folder);
        const opened = openedBy(text, folder);
        const [held, allowed] = [guarded.outcome({ path: text }), limited.outcome({ path: text })];
        if (held === 'permit') found.passed += 1;
        if (allowed === 'permit')
          expect([text, opened ?? `${folder}/pub/`]).toEqual([text, expect.stringMatching(within(`${folder}/pub`))]);
        if (opened === undefined) return;
        const isGuarded =
          within(`${folder}/secrets`).test(opened) || opened.endsWith('.env') || opened.split('/').includes('.git');
        if (!isGuarded) return;
        found.meant += 1;
        if (opened !== text) found.respelled += 1;
        if (held === 'permit') found.evaded += 1;
        expect([text, held]).not.toEqual([text, 'permit']);
      }),
      { numRuns: draws },
    );
  } finally {
    for (const rules of [guarded, limited]) rules.release();
    rmSync(folder, { recursive: true });
  }
  return found;
}

const within = (folder: string) => new RegExp(`^${folder}(/|$)`);

/** The real path of the file that is written, or of the folder that is opened. Undefined if the disk has no such place. */
function openedBy(text: string, folder: string): string | undefined {
  const at = text.startsWith('/') ? text : `${folder}/${text}`;
  try {
    if (statSync(at, { throwIfNoEntry: false })?.isDirectory() !== true) writeFileSync(at, text);
    const real = realpathSync(at);
    const isSame =
      statSync(real).ino === statSync(at).ino && (statSync(real).isDirectory() || readFileSync(real, 'utf8') === text);
    return isSame && basename(real) !== '' ? real : undefined;
  } catch {
    return undefined;
  }
}

const SCHEMES = [
  'https://',
  'https://',
  'https://',
  'HTTPS://',
  'http://',
  'https:',
  'https:/',
  'https:///',
  ' https://',
  'ht\ttps://',
  'https:\\\\',
  '//',
];
const ACCOUNTS = ['', '', '', 'good.test@', 'evil.test@', 'good.test:x@', 'good.test\\@', 'good.test%40', '@'];
const HOSTS = [
  'good.test',
  'evil.test',
  'GOOD.test',
  'EVIL.TEST',
  'evil.test.',
  'good.test.',
  'a.good.test',
  'good.test.evil.test',
];
const ODD_HOSTS = [
  'ｅvil.test',
  'evil。test',
  'e%76il.test',
  'xgood.test',
  'ev\u00adil.test',
  '[::1]',
  '0x7f.1',
  'evil.test..',
  'e\nvil.test',
];
const PORTS_WRITTEN = ['', '', ':443', ':80', ':0443', ':', ':444', ':x'];
const PATHS_WRITTEN = [
  '',
  '/',
  '/docs',
  '/docs/',
  '/docs/a',
  '/DOCS/a',
  '/docs/../admin',
  '/docs/%2e%2e/admin',
  '/docs/..%2fadmin',
  '/docs//a',
];
const ODD_PATHS = [
  '/%64ocs/a',
  '/docs;x=1/a',
  '/docs/..;/admin',
  '\\docs',
  '/docs\\..\\admin',
  '/admin',
  '/docs-and-more',
  '/docs%2fa',
  '/./docs/a',
  '?/docs',
  '#/docs',
];
const spelledAddresses = fc
  .tuple(
    some(...SCHEMES),
    some(...ACCOUNTS),
    some(...HOSTS, ...ODD_HOSTS),
    some(...PORTS_WRITTEN),
    some(...PATHS_WRITTEN, ...ODD_PATHS),
  )
  .map((parts) => parts.join(''));

/** Compares what the compiled rules say about drawn addresses with how two readers of addresses understand them. */
export async function tryAddresses(draws: number): Promise<Figures> {
  const guarded = await compiledRules([
    { allow: '*' },
    { deny: { tool: '*', where: { path: { url: { host: ['evil.test', '*.evil.test'] } } } } },
    { approve: { tool: '*', where: { path: { url: { path: { under: '/admin' } } } } } },
  ]);
  const allowing = { host: ['good.test', '*.good.test'], scheme: 'https', port: 443, path: { under: '/docs' } };
  const limited = await compiledRules([{ allow: { tool: '*', where: { path: { url: allowing } } } }]);
  const found = { meant: 0, respelled: 0, passed: 0, evaded: 0 };
  try {
    fc.assert(
      fc.property(spelledAddresses, (text) => {
        const readings = readingsOf(text);
        const [held, allowed] = [guarded.outcome({ path: text }), limited.outcome({ path: text })];
        if (held === 'permit') found.passed += 1;
        if (allowed === 'permit')
          for (const one of readings)
            expect([text, one]).toEqual([text, expect.stringMatching(/^https good|^https a\.good/)]);
        if (allowed === 'permit')
          for (const one of readings)
            expect([text, one]).toEqual([text, expect.stringMatching(/test 443 \/docs(\/|$)/)]);
        const isGuarded = readings.some((one) => /evil\.test \d|\d \/admin/.test(one));
        if (!isGuarded) return;
        found.meant += 1;
        if (!text.startsWith('https://evil.test/')) found.respelled += 1;
        if (held === 'permit') found.evaded += 1;
        expect([text, held]).not.toEqual([text, 'permit']);
      }),
      { numRuns: draws },
    );
  } finally {
    for (const rules of [guarded, limited]) rules.release();
  }
  return found;
}

/** How readers understand an address: scheme, host, port and decoded path. */
function readingsOf(text: string): string[] {
  const standard = URL.canParse(text) ? new URL(text) : undefined;
  let earlier: ReturnType<typeof parse> | undefined;
  try {
    earlier = parse(text);
  } catch {
    // It refuses the address.
  }
  return [standard, earlier].flatMap((url) => {
    if (!url?.protocol || !url.hostname) return [];
    const port = url.port || (url.protocol === 'http:' ? '80' : '443');
    return [
      `${url.protocol.slice(0, -1)} ${url.hostname.replace(/\.$/, '')} ${Number(port)} ${decoded(url.pathname ?? '/')}`,
    ];
  });
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
