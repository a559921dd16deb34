import { isDeepStrictEqual } from 'node:util';
import { Document, parse, visit } from 'yaml';
import { visible } from '../../../shared/logger.ts';
import { yamlText } from '../../configuration/yaml-text.ts';
import { readTextSync } from '../../../shared/text-file.ts';

/** As far as the entries of `rules` stand from the left in most files. */
const INDENT = '  ';

/**
 * An entry of `rules` as YAML text, with comments above it. It reads back as the same rule. A value of a stranger moves no cursor:
 * invisible characters are escapes.
 */
export function ruleEntry(rule: object, comments: readonly string[]): string {
  const document = new Document([rule]);
  visit(document, {
    Collection(_key, node, path) {
      // The rule and its members stand in lines of their own.
      if (path.length > 4) node.flow = true;
    },
  });
  const lines = [...comments.map((comment) => `# ${visible(comment)}`), ...yamlText(document).trimEnd().split('\n')];
  const entry = lines.map((line) => `${INDENT}${line}`).join('\n');
  if (!isDeepStrictEqual(parse(entry), [rule])) throw new Error('the text of a rule reads as another rule');
  return entry;
}

interface Marked {
  readonly file: string;
  /** Of the rule in `rules`. */
  readonly index: number;
  readonly grantable: object;
}

/** The entry of a rule in a configuration file with `grantable`, and with the variables that its author wrote. */
export function entryWithGrantable({ file, index, grantable }: Marked, comments: readonly string[]): string {
  const { rules } = parse(readTextSync(file)) as { readonly rules: readonly object[] };
  return ruleEntry({ ...rules[index], grantable }, comments);
}
