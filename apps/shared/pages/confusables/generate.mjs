// Writes table.txt from a published form of Unicode's confusables (UTS 39):
//   node apps/shared/pages/confusables/generate.mjs <file>
// The file is Unicode's own confusables.txt, or src/tables.rs of the crate unicode-security, which derives from it.
import { readFileSync, writeFileSync } from 'node:fs';

const source = readFileSync(process.argv[2], 'utf8');
const points = (text) => text.match(/[0-9A-Fa-f]{2,6}/g).map((one) => parseInt(one, 16));

/** From either form, each code point with those of its prototype. */
function entriesOf(text) {
  if (!text.includes('pub mod confusable_detection')) {
    const lines = text.matchAll(/^([0-9A-F]{4,6}) ;\t([0-9A-F ]+?) ;/gm);
    return Array.from(lines, ([, from, to]) => [points(from)[0], points(to)]);
  }
  const part = text.split('pub mod confusable_detection')[1].split('pub mod ')[0];
  const rows = part.matchAll(/\('\\u\{([0-9a-f]+)\}',\s*&\[([^\]]*)\]\)/g);
  return Array.from(rows, ([, from, to]) => [parseInt(from, 16), points(to.replaceAll('\\u', ' '))]);
}

const version = /^# Version: (\S+)|UNICODE_VERSION: \(u64, u64, u64\) = \(([\d, ]+)\)/m.exec(source);
const entries = entriesOf(source).sort(([a], [b]) => a - b);
if (version === null || entries.length < 6_000) throw new Error('This file has no table of confusables.');

const hex = (point) => point.toString(16);
const lines = [
  '# Unicode confusables (UTS 39): a code point, and what its skeleton has in its place. Written by generate.mjs.',
  `# Unicode ${version[1] ?? version[2].replaceAll(', ', '.')}. Data of Unicode, Inc., under the Unicode License v3: https://www.unicode.org/license.txt`,
  ...entries.map(([from, to]) => `${hex(from)} ${to.map(hex).join(' ')}`),
];
writeFileSync(new URL('table.txt', import.meta.url), `${lines.join('\n')}\n`);
