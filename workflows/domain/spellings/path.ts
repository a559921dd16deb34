import { hasUnclearLetters } from './letters.ts';

/** What a path begins with: a slash, a drive letter of Windows, or the name of something in a folder that only the server knows. */
export type PathKind = 'unix' | 'drive' | 'relative';

/**
 * What a text names if it is a path. Two texts with the same form name the same file, if no link is between them. A member that depends
 * on the server is missing: nothing is known about it then.
 */
export interface PathForm {
  readonly whole?: {
    readonly kind: PathKind;
    /** The parts, each with one slash behind it. `/srv/a/` and `C:/work/a/` are absolute, `a/b/` is relative. */
    readonly text: string;
    /** Whether Windows reads each part as it is written. Always true of the other two kinds. */
    readonly isPortable: boolean;
  };
  /** The last part. */
  readonly name?: string;
}

/** Separators of paths and escapes of addresses, which some servers decode. */
const ESCAPED = /%[0-9a-f]{2}/i;
const DRIVE = /^([A-Za-z]):[/\\]/;

/**
 * Names that Windows reads as another one: with a stream behind a colon, with dots and blanks at the end, which it leaves out, and with a
 * number behind `~`, as in short names.
 */
const isOdd = (part: string): boolean => /:|[. ]$|~\d/.test(part);

/** The form of a path. It knows nothing of links. */
export function pathForm(text: string): PathForm {
  if (text.trim() !== text || ESCAPED.test(text) || hasUnclearLetters(text)) return {};
  const [, drive] = DRIVE.exec(text) ?? [];
  // A backslash is a separator for Windows, and a letter for others.
  if (drive === undefined && text.includes('\\')) return {};
  const kind = drive !== undefined ? 'drive' : text.startsWith('/') ? 'unix' : 'relative';
  const root = { drive: `${drive?.toUpperCase()}:/`, unix: '/', relative: '' }[kind];
  const split = kind === 'drive' ? text.slice(3).split(/[/\\]/) : text.split('/');
  const parts = split.filter((part) => part !== '' && part !== '.');
  // Above the root is the root. Everywhere else a link may stand before `..`, so that only the server knows what is above it.
  while (kind !== 'relative' && parts[0] === '..') parts.shift();
  // Servers put the home folder of a person in place of `~`.
  const isHome = kind === 'relative' && text.startsWith('~');
  const isPortable = !parts.some(isOdd);
  const isKnown = text !== '' && !isHome && !parts.includes('..') && (isPortable || kind === 'unix');
  const name = parts.at(-1) ?? '..';
  const isNameKnown = name !== '..' && !isOdd(name) && !(isHome && parts.length === 1);
  return {
    ...(isKnown && { whole: { kind, text: root + parts.map((part) => `${part}/`).join(''), isPortable } }),
    ...(isNameKnown && { name }),
  };
}
