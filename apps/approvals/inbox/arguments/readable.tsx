import type { VNode } from 'preact';
import { canonicalJson, isObject, type Json, type JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import { Pieces } from '../../../shared/pages/visible.tsx';
import type { Language } from './colours.ts';
import { exactLines } from './exact.tsx';
import { columnsOf, compare, editIn, formOfText, isContainer, stringsIn } from './forms.ts';
import { languageOf, languageOfMembers } from './languages.ts';
import type { Pen } from './pen.ts';
import { counted, drawEdit, drawText, quoted, type Drawn } from './text.tsx';

/** The place of a value in the arguments. */
interface Place {
  readonly name: string | undefined;
  /** The language of the nearest file name or language around it. */
  readonly around: Language | undefined;
  readonly depth: number;
  /** How many string values the canonical text has before it. */
  readonly ordinal: number;
}

const TOP: Place = { name: undefined, around: undefined, depth: 0, ordinal: 0 };
/** Deeper values are drawn as JSON, which takes less room. */
const DEEPEST = 6;

/** A value in the forms that are made for its parts. All of the value is in it, and two values are drawn alike only if they are equal. */
export const readable = (value: Json, pen: Pen): VNode => {
  const { label, body } = drawValue(value, pen, TOP);
  const isPlain = body?.type === 'dl';
  return (
    <>
      {!isPlain && labelled(label)}
      {body}
    </>
  );
};

function drawValue(value: Json, pen: Pen, place: Place): Drawn {
  if (typeof value === 'string') {
    const language = languageOf(value, place.name, place.around);
    return drawText(value, pen, { language, place: pen.placeOf(place.ordinal) });
  }
  if (typeof value !== 'object' || value === null) return { kind: 'inline', body: other(value) };
  const count = Object.keys(value).length;
  if (count === 0) return { kind: 'inline', label: isObject(value) ? 'no members' : 'empty list' };
  if (place.depth >= DEEPEST || !pen.mayDraw(count)) return drawExact(value, pen, place);
  return isObject(value) ? drawMembers(value, pen, place) : drawList(value, pen, place);
}

/** A number, true, false or null, as JSON writes it. */
const other = (value: Json) => <code class="o">{canonicalJson(value)}</code>;

function drawExact(value: Json, pen: Pen, { ordinal }: Place): Drawn {
  const body = <pre class="text inner">{exactLines(canonicalJson(value), pen, { first: ordinal })}</pre>;
  return { kind: 'block', label: 'as JSON', body };
}

function drawMembers(object: JsonObject, pen: Pen, { around, depth, ordinal: first }: Place): Drawn {
  const names = Object.keys(object).sort();
  const language = languageOfMembers(object) ?? around;
  const edit = editIn(object);
  const changes = edit && compare(edit, pen);
  const editNames = edit?.map(([name]) => name) ?? [];
  // A path is read before the content that is written to it.
  const isFirst = (name: string) =>
    isShort(object[name] ?? null) && !(changes !== undefined && editNames.includes(name));
  const inOrder = [...names.filter(isFirst), ...names.filter((name) => !isFirst(name))];
  let ordinal = first;
  const ordinals = new Map<string, number>();
  for (const name of names) {
    ordinals.set(name, ordinal);
    ordinal += stringsIn(object[name] ?? null);
  }
  const members = inOrder.map((name) => {
    if (changes !== undefined && editNames.includes(name)) {
      // Both are drawn at the place of the first one.
      if (name !== editNames.toSorted()[0]) return null;
      const [old, added] = editNames.map((name) => keyOf(name, pen, pen.placeOf(ordinals.get(name) ?? 0)));
      const both = (
        <>
          {old}
          {labelled('becomes')} {added}
        </>
      );
      return member(both, drawEdit(changes, pen, language));
    }
    const place = { name, around: language, depth: depth + 1, ordinal: ordinals.get(name) ?? 0 };
    return member(keyOf(name, pen), drawValue(object[name] ?? null, pen, place));
  });
  return { kind: 'block', label: counted(names.length, 'member'), body: <dl class="members">{members}</dl> };
}

/** Whether a value is drawn beside its name. */
const isShort = (value: Json): boolean =>
  typeof value === 'string'
    ? formOfText(value) === 'quoted'
    : !isContainer(value) || Object.keys(value ?? {}).length === 0;

const keyOf = (name: string, pen: Pen, place?: string) => (
  <>
    <Pieces pieces={pen.pieces(name, 'plain')} kind="k" place={place} isDense={pen.isDense} />
    {name === '' && labelled('empty name')}
  </>
);

function member(name: VNode, { kind, label, body }: Drawn): VNode {
  return (
    <div class={`member ${kind}`}>
      <dt>
        {name}
        {kind === 'block' && labelled(label)}
      </dt>
      <dd>
        {body}
        {kind === 'inline' && labelled(label)}
      </dd>
    </div>
  );
}

/** Words of the page, with the blank that a screen reader needs before them. */
const labelled = (label: string | undefined) =>
  label !== undefined && (
    <>
      {' '}
      <span class="label">{label}</span>
    </>
  );

function drawList(list: readonly Json[], pen: Pen, { name, around, depth, ordinal: first }: Place): Drawn {
  const columns = columnsOf(list);
  if (columns !== undefined && pen.mayDraw(list.length * columns.length)) {
    return drawTable(list as readonly JsonObject[], columns, pen, first);
  }
  let ordinal = first;
  const items = list.map((value, at) => {
    const place = { name, around, depth: depth + 1, ordinal };
    ordinal += stringsIn(value);
    const { kind, label, body } = drawValue(value, pen, place);
    return (
      <li key={at}>
        {kind === 'block' && labelled(label)}
        {body}
        {kind === 'inline' && labelled(label)}
      </li>
    );
  });
  return { kind: 'block', label: `list of ${list.length.toLocaleString('en')}`, body: <ol class="items">{items}</ol> };
}

/** A list of objects that have the same members. A narrow page shows the objects one below the other, each with its names. */
function drawTable(rows: readonly JsonObject[], columns: readonly string[], pen: Pen, first: number): Drawn {
  let ordinal = first;
  const cell = (value: Json) =>
    typeof value === 'string' ? quoted(value, pen, { place: pen.placeOf(ordinal++) }) : other(value);
  const keys = columns.map((name) => ({ name, drawn: keyOf(name, pen), again: keyOf(name, pen.copy()) }));
  const body = (
    <table>
      <thead>
        <tr>
          <td />
          {keys.map(({ name, drawn }) => (
            <th key={name} scope="col">
              {drawn}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            <th scope="row">{at + 1}</th>
            {keys.map(({ name, again }) => (
              <td key={name}>
                <span class="again">{again}</span>
                {cell(row[name] ?? null)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
  return { kind: 'block', label: `table of ${counted(rows.length, 'object')}`, body };
}

/** Whether this view shows more than formatted JSON does: lines of texts, edits, tables, programs, binary, or texts without escapes. */
export function isWorthReading(value: Json, around?: Language, name?: string): boolean {
  if (typeof value === 'string') {
    return /["\\\n\t]/.test(value) || formOfText(value) !== 'quoted' || languageOf(value, name, around) !== undefined;
  }
  if (typeof value !== 'object' || value === null) return false;
  if (!isObject(value)) {
    return columnsOf(value) !== undefined || value.some((one) => isWorthReading(one, around, name));
  }
  const language = languageOfMembers(value) ?? around;
  return (
    editIn(value) !== undefined || Object.entries(value).some(([name, one]) => isWorthReading(one, language, name))
  );
}
