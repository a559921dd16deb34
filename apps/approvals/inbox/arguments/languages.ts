import { objectOf, type Json } from '../../../../workflows/domain/canonical-json.ts';
import type { Language } from './colours.ts';

export const LANGUAGE_NAMES = {
  ...{ bash: 'shell', css: 'CSS', go: 'Go', ini: 'settings', java: 'Java', javascript: 'JavaScript', json: 'JSON' },
  ...{ python: 'Python', rust: 'Rust', sql: 'SQL', typescript: 'TypeScript', xml: 'markup', yaml: 'YAML' },
} as const satisfies Record<Language, string>;

/** Languages by the ends of file names, and by what callers name them. */
const BY_WORD: Readonly<Record<string, Language>> = {
  ...{ sh: 'bash', bash: 'bash', zsh: 'bash', shell: 'bash', css: 'css', go: 'go', golang: 'go', java: 'java' },
  ...{ ini: 'ini', toml: 'ini', cfg: 'ini', conf: 'ini', properties: 'ini', env: 'ini' },
  ...{ js: 'javascript', mjs: 'javascript', cjs: 'javascript', jsx: 'javascript', javascript: 'javascript' },
  ...{ json: 'json', py: 'python', python: 'python', rs: 'rust', rust: 'rust', sql: 'sql' },
  ...{ ts: 'typescript', mts: 'typescript', tsx: 'typescript', typescript: 'typescript' },
  ...{ xml: 'xml', html: 'xml', htm: 'xml', svg: 'xml', yaml: 'yaml', yml: 'yaml' },
};

const NAMES_FILE = /path|file|uri|url/i;
const NAMES_LANGUAGE = /^(?:lang|language|syntax|interpreter)$/i;
const ENDING = /\.([a-z]{1,10})$/i;
const NAMES_COMMAND = /^(?:cmd|command|script|shell|bash)$/i;
const SQL =
  /^\s*(?:select\s|with\s|insert\s+into\s|update\s|delete\s+from\s|merge\s+into\s|grant\s|truncate\s|(?:create|drop|alter)\s+(?:table|index|view|schema|database|user|role|function|trigger|sequence|type)\s)/i;
const SQL_NAME = /sql|query|statement/i;
const SHEBANG = /^#!\S*\b(bash|sh|zsh|python|node)\b/;
const MARKUP = /^\s*<(?:\?xml\s|!doctype\s|html[\s>]|svg[\s>])/i;

const wordIn = (text: Json | undefined, pattern: RegExp): Language | undefined => {
  const found = typeof text === 'string' ? pattern.exec(text)?.[1]?.toLowerCase() : undefined;
  return found !== undefined && Object.hasOwn(BY_WORD, found) ? BY_WORD[found] : undefined;
};

/** The language that the members of an object speak of, for all texts in it: that of a file, or one that it names. */
export function languageOfMembers(object: Json): Language | undefined {
  for (const [name, value] of Object.entries(objectOf(object))) {
    const found = NAMES_LANGUAGE.test(name)
      ? wordIn(value, /^(\w+)$/)
      : NAMES_FILE.test(name)
        ? wordIn(value, ENDING)
        : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The language in which a text is coloured: by its beginning, by the name of its member, else that of its surroundings. A colour is a
 * help for reading. It does not say how a tool takes the text.
 */
export function languageOf(text: string, name: string | undefined, around: Language | undefined): Language | undefined {
  const program = SHEBANG.exec(text)?.[1];
  if (program !== undefined) return program === 'python' ? 'python' : program === 'node' ? 'javascript' : 'bash';
  if (MARKUP.test(text)) return 'xml';
  if (name !== undefined && NAMES_FILE.test(name)) return undefined;
  if (SQL.test(text) && (SQL_NAME.test(name ?? '') || /\b(?:from|set|values|table|on|as)\b/i.test(text))) return 'sql';
  if (name !== undefined && NAMES_COMMAND.test(name)) return 'bash';
  return text.includes('\n') ? around : undefined;
}
