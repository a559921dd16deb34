import { parseFragment, type DefaultTreeAdapterTypes } from 'parse5';
import type { View } from '../../../../../apps/approvals/inbox/arguments/arguments.tsx';
import { canonicalJson, type Json } from '../../../../../workflows/domain/canonical-json.ts';

// Reads a drawing back to the canonical text that was drawn. It reads what a person sees: text, and classes, each of which has a look of
// its own. It reads no other attribute, and refuses markup that it does not know.

type Node = DefaultTreeAdapterTypes.ChildNode;
type Element = DefaultTreeAdapterTypes.Element;

const isElement = (node: Node): node is Element => 'tagName' in node;
const classesOf = (node: Node): readonly string[] =>
  isElement(node) ? (node.attrs.find(({ name }) => name === 'class')?.value.split(' ') ?? []) : [];
const is = (node: Node, name: string): boolean =>
  isElement(node) && (node.tagName === name || classesOf(node).includes(name));
/** Elements with this class or name, in the order of the page, and none within another one. */
function within(node: Element, name: string): Element[] {
  return node.childNodes.flatMap((child) =>
    isElement(child) ? (is(child, name) ? [child] : within(child, name)) : [],
  );
}
function only<T>([one, ...more]: readonly T[]): T {
  if (one === undefined || more.length > 0)
    throw new Error(`there are ${one === undefined ? 0 : more.length + 1}, not one`);
  return one;
}
const children = (node: Element, name: string) => node.childNodes.filter((child) => is(child, name)) as Element[];

/** All of the text, except the code points beside lookalikes. */
function allText(node: Node): string {
  if (is(node, 'points')) return '';
  if (isElement(node)) return node.childNodes.map(allText).join('');
  return 'value' in node ? node.value : '';
}

/** A text as its author wrote it: marks of the page stand for their characters. */
function textOf(node: Node): string {
  if (is(node, 'points')) return '';
  if (is(node, 'escape')) return JSON.parse(`"${allText(node)}"`) as string;
  if (isElement(node)) return node.childNodes.map(textOf).join('');
  return 'value' in node ? node.value : '';
}

/** JSON with its escapes, in lines that the page has broken. */
const jsonOf = (node: Element): Json => JSON.parse(allText(node).replaceAll('\n', '')) as Json;

const quoted = (text: string) => JSON.stringify(text);
const labelIn = (node: Element): string | undefined => {
  const [label] = children(node, 'label');
  return label && allText(label);
};
const keyOf = (key: Element) => textOf(key);
const lineOf = (line: Element) => textOf(only(children(line, 'bdi')));

const objectOf = (members: readonly (readonly [string, string])[]): string =>
  `{${members
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${quoted(name)}:${value}`)
    .join(',')}}`;

/** The value that an element draws, as canonical text. `label` is the page's word beside it. */
function valueIn(holder: Element, label: string | undefined): string {
  const bodies = holder.childNodes.filter(
    (node) => isElement(node) && !['label', 'again', 'end'].some((name) => is(node, name)),
  );
  const [body, ...more] = bodies as Element[];
  if (body === undefined && label === 'no members') return '{}';
  if (body === undefined && label === 'empty list') return '[]';
  if (body === undefined || more.length > 0) throw new Error(`${bodies.length} drawings of one value`);
  if (is(body, 'quoted')) return quoted(textOf(only(children(body, 'bdi'))));
  if (is(body, 'code')) return allText(body);
  if (is(body, 'members')) return objectOf(children(body, 'member').flatMap(membersOf));
  if (is(body, 'items'))
    return `[${children(body, 'li')
      .map((item) => valueIn(item, labelIn(item)))
      .join(',')}]`;
  if (is(body, 'table')) return tableOf(body);
  if (is(body, 'binary')) return quoted(binaryOf(body));
  if (is(body, 'inner') && label === 'as JSON') return canonicalJson(jsonOf(body));
  if (is(body, 'inner')) return quoted(JSON.stringify(jsonOf(body)));
  if (is(body, 'text')) return quoted(within(body, 'line').map(lineOf).join('\n'));
  throw new Error(`unknown markup: ${body.tagName} ${classesOf(body).join(' ')}`);
}

function membersOf(member: Element): (readonly [string, string])[] {
  const [term, description] = [only(children(member, 'dt')), only(children(member, 'dd'))];
  const [key, another] = within(term, 'k');
  if (key === undefined) throw new Error('a member has no name');
  if (another === undefined) {
    const holder = is(member, 'block') ? term : description;
    const labels = within(holder, 'label').map(allText);
    return [
      [
        keyOf(key),
        valueIn(
          description,
          labels.find((label) => label !== 'empty name'),
        ),
      ],
    ];
  }
  const lines = within(only(children(description, 'edit')), 'line');
  const side = (sign: string) =>
    quoted(
      lines
        .filter((line) => [' ', sign].includes(allText(only(children(line, 'sign')))))
        .map(lineOf)
        .join('\n'),
    );
  return [
    [keyOf(key), side('-')],
    [keyOf(another), side('+')],
  ];
}

function tableOf(table: Element): string {
  const [head, body] = [only(children(table, 'thead')), only(children(table, 'tbody'))];
  const names = within(head, 'th').map((cell) => keyOf(only(within(cell, 'k'))));
  const rows = children(body, 'tr').map((row) =>
    objectOf(
      children(row, 'td').map((cell, at) => {
        const name = names[at] ?? '';
        if (keyOf(only(within(only(children(cell, 'again')), 'k'))) !== name) throw new Error('two names of a column');
        return [name, valueIn(cell, undefined)] as const;
      }),
    ),
  );
  return `[${rows.join(',')}]`;
}

function binaryOf(binary: Element): string {
  return lineOf(only(within(only(children(binary, 'details')), 'line')));
}

/** The canonical text that this HTML of a view draws. */
export function bytesOf(html: string, view: View): string {
  const region = only(within(parseFragment(html) as unknown as Element, 'json'));
  if (!is(region, view)) throw new Error(`this is not the view ${view}`);
  // The end of the drawing, which shows nothing.
  const end = region.childNodes.pop();
  if (end === undefined || !is(end, 'end') || allText(end) !== '') throw new Error('the drawing has no end');
  return view === 'readable' ? valueIn(region, labelIn(region)) : canonicalJson(jsonOf(region));
}
