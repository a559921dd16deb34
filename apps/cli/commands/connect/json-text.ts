import { findNodeAtLocation, type Node, parseTree } from 'jsonc-parser';

type Entry = Readonly<Record<string, unknown>>;

/**
 * Sets one member of a JSON text with comments, and makes the objects around it. All other text stays exactly as it is. The text is valid
 * JSON with comments, or empty.
 */
export function withMember(text: string, path: readonly string[], entry: Entry): string {
  const base = text.trim() === '' ? '{}\n' : text;
  const tree = parseTree(base, undefined, { allowTrailingComma: true });
  if (tree === undefined) return base;
  const known = findNodeAtLocation(tree, [...path]);
  if (known !== undefined) {
    const written = indented(JSON.stringify(entry, null, unitOf(base)), indentAt(base, known.offset));
    return `${base.slice(0, known.offset)}${written}${base.slice(known.offset + known.length)}`;
  }
  let depth = path.length - 1;
  while (depth > 0 && findNodeAtLocation(tree, path.slice(0, depth)) === undefined) depth -= 1;
  const around = findNodeAtLocation(tree, path.slice(0, depth)) ?? tree;
  const value = path.slice(depth + 1).reduceRight<Entry>((inner, name) => ({ [name]: inner }), entry);
  return withProperty(base, around, { name: path[depth] ?? '', value });
}

interface Property {
  readonly name: string;
  readonly value: Entry;
}

function withProperty(text: string, around: Node, { name, value }: Property): string {
  const unit = unitOf(text);
  const last = around.children?.at(-1);
  if (last === undefined) {
    const margin = indentAt(text, around.offset);
    const written = indented(`${JSON.stringify(name)}: ${JSON.stringify(value, null, unit)}`, margin + unit);
    const [start, rest] = [around.offset + 1, text.slice(around.offset + 1)];
    return `${text.slice(0, start)}\n${margin}${unit}${written}\n${margin}${rest.trimStart()}`;
  }
  const end = last.offset + last.length;
  const [rest = ''] = text.slice(end).split('\n');
  // A comment on the line of the last member belongs to that member.
  const [ofLine, comma] = /^[ \t]*(,?)[ \t]*(?:\/\/.*|\/\*(?:(?!\*\/).)*\*\/[ \t]*)?\r?$/.exec(rest) ?? [];
  if (ofLine === undefined) {
    const written = `${JSON.stringify(name)}: ${JSON.stringify(value)}`;
    return `${text.slice(0, end)}, ${written}${text.slice(end)}`;
  }
  const margin = indentAt(text, last.offset);
  const written = indented(`${JSON.stringify(name)}: ${JSON.stringify(value, null, unit)}`, margin);
  const before = `${text.slice(0, end)}${comma === '' ? ',' : ''}${ofLine}`;
  return `${before}\n${margin}${written}${comma}${text.slice(end + ofLine.length)}`;
}

const indented = (written: string, margin: string): string => written.replaceAll('\n', `\n${margin}`);

/** The blanks at the beginning of the line of this place. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

/** The blanks of one level: those of the first line that has any. */
const unitOf = (text: string): string => /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
