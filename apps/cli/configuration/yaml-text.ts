import { type Document, type ToStringOptions, visit } from 'yaml';
import { UNPRINTABLE } from '../../shared/logger.ts';

/**
 * The text of a YAML document that may have texts of strangers, such as names of tools. Such a text moves no cursor: invisible characters
 * are escapes. It reads back as the same values.
 */
export function yamlText(document: Document, options: ToStringOptions = {}): string {
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === 'string' && node.value.search(UNPRINTABLE) !== -1) node.type = 'QUOTE_DOUBLE';
    },
  });
  const text = document.toString({
    ...options,
    lineWidth: 0,
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
  });
  return text
    .split('\n')
    .map((line) => line.replace(UNPRINTABLE, escaped))
    .join('\n');
}

/** An escape of a YAML text in double quotes. */
const escaped = (character: string): string => `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
