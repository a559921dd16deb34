import type { VNode } from 'preact';
import { anchor, Pieces } from '../../../shared/pages/visible.tsx';
import type { Binary } from './base64.ts';
import { toned, tonesOf, type Language, type Tone } from './colours.ts';
import { exactLines } from './exact.tsx';
import { type ChangedLine, formOfText, isBrokenPatch, rolesInPatch, textLines } from './forms.ts';
import { LANGUAGE_NAMES, languageOf } from './languages.ts';
import type { Pen } from './pen.ts';

/** A value as it is drawn: beside its name, or below it as a block. */
export interface Drawn {
  readonly kind: 'inline' | 'block';
  /** Says what the value is, where its drawing alone does not. */
  readonly label?: string | undefined;
  readonly body?: VNode | undefined;
}

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

interface TextOptions {
  readonly language: Language | undefined;
  /** The id of its place on the page, if a warning leads there. */
  readonly place: string | undefined;
}

/** A string value with its own lines, and without the escapes of JSON. */
export function drawText(text: string, pen: Pen, { language, place }: TextOptions): Drawn {
  const form = formOfText(text);
  if (typeof form === 'object') return drawBinary(text, form, pen, place);
  if (form === 'quoted') {
    const label = text === '' ? 'empty text' : text.trim() === '' ? 'only blanks' : undefined;
    return { kind: 'inline', label, body: quoted(text, pen, { language, place }) };
  }
  if (form === 'json') {
    const body = (
      <pre class="text inner" {...anchor(place)}>
        {exactLines(text, pen)}
      </pre>
    );
    return { kind: 'block', label: 'text of JSON, laid out for reading', body };
  }
  const lines = textLines(text);
  const isPatch = form === 'patch';
  const roles = isPatch ? rolesInPatch(lines) : [];
  const tones = isPatch ? [] : tonesFor(lines, language, pen);
  const what = isPatch ? 'patch' : language === undefined ? 'text' : LANGUAGE_NAMES[language];
  const odd = isBrokenPatch(text) ? '; it looks like a patch, and is not a valid one' : '';
  const body = (
    <pre class="text" {...anchor(place)}>
      {lines.map((line, at) => (
        <span key={at} class={`line ${PATCH_CLASSES[roles[at] ?? ' ']}`.trimEnd()}>
          {ofLine(line, at, pen, tones[at])}
          {'\n'}
        </span>
      ))}
    </pre>
  );
  return { kind: 'block', label: `${what}, ${counted(lines.length, 'line')}${odd}`, body };
}

const PATCH_CLASSES = { ' ': '', '+': 'added', '-': 'removed', head: 'part' } as const;

/** A text without line breaks, between signs that no text has: a text with such signs has them underlined. */
export function quoted(text: string, pen: Pen, { language, place }: Partial<TextOptions> = {}): VNode {
  const pieces = toned(pen.pieces(text, 'text'), tonesFor([text], language, pen)[0]);
  return (
    <span class="quoted">
      <span class="quote">“</span>
      <Pieces pieces={pieces} kind="s" place={place} isDense={pen.isDense} />
      <span class="quote">”</span>
    </span>
  );
}

function ofLine(line: string, at: number, pen: Pen, tones: readonly Tone[] | undefined): VNode {
  const pieces = toned(pen.pieces(line, at === 0 ? 'text' : 'line'), tones);
  return <Pieces pieces={pieces} kind="t" isDense={pen.isDense} />;
}

function tonesFor(lines: readonly string[], language: Language | undefined, pen: Pen): readonly Tone[][] {
  const length = lines.reduce((sum, line) => sum + line.length + 1, 0);
  return language === undefined || !pen.mayColour(length) ? [] : tonesOf(lines, language);
}

const CHANGED = {
  ' ': { Tag: 'span', name: 'kept' },
  '-': { Tag: 'del', name: 'removed' },
  '+': { Tag: 'ins', name: 'added' },
} as const;

/** The lines of two texts: those of the first have ` ` or `-`, those of the second have ` ` or `+`. */
export function drawEdit(lines: readonly ChangedLine[], pen: Pen, language: Language | undefined): Drawn {
  const count = (sign: ChangedLine['sign']) => lines.filter((line) => line.sign === sign).length;
  const [removed, added] = [count('-'), count('+')];
  const tonesOfSide = (side: '-' | '+') => {
    const ofSide = lines.filter(({ sign }) => sign === ' ' || sign === side);
    const texts = ofSide.map(({ text }) => text);
    const tones = tonesFor(texts, language, pen);
    return new Map(ofSide.map((line, at) => [line, tones[at]]));
  };
  const [before, after] = [tonesOfSide('-'), tonesOfSide('+')];
  const drawn = lines.map((line, at) => {
    const { sign, text } = line;
    const { Tag, name } = CHANGED[sign];
    const tones = (sign === '-' ? before : after).get(line);
    return (
      <Tag key={at} class={`line ${name}`}>
        <span class="sign">{sign}</span>
        {ofLine(text, at, pen, tones)}
        {'\n'}
      </Tag>
    );
  });
  const label = `${counted(removed, 'line')} removed, ${added.toLocaleString('en')} added`;
  return { kind: 'block', label, body: <pre class="text edit">{drawn}</pre> };
}

/** Bytes by type, size and digest; what they say, if they are a text; and the base64 folded. */
function drawBinary(text: string, binary: Binary, pen: Pen, place: string | undefined): Drawn {
  const { prefix, type, bytes, digest, text: inside } = binary;
  const body = (
    <div class="binary">
      {prefix !== '' && <p>Called {quoted(prefix, pen)}</p>}
      <p>
        SHA-256 of the bytes: <code class="digest">{digest}</code>
      </p>
      {inside !== undefined && decoded(inside, pen)}
      <details {...anchor(place)}>
        <summary>
          {inside === undefined ? 'The text' : 'The base64'}, {counted(text.length, 'character')}
        </summary>
        <pre class="text">
          <span class="line">
            <Pieces pieces={pen.pieces(text, 'text')} kind="t" isDense />
            {'\n'}
          </span>
        </pre>
      </details>
    </div>
  );
  return { kind: 'block', label: `${type}, ${counted(bytes, 'byte')}, as text in base64`, body };
}

/** What a text in base64 says, with its own lines. */
function decoded(text: string, pen: Pen): VNode {
  const lines = textLines(text);
  const language = languageOf(text, undefined, undefined);
  const tones = tonesFor(lines, language, pen);
  return (
    <>
      <p>
        Decoded:{' '}
        <span class="label">
          {language === undefined ? 'text' : LANGUAGE_NAMES[language]}, {counted(lines.length, 'line')}
        </span>
      </p>
      <pre class="text">
        {lines.map((line, at) => (
          <span key={at} class="line">
            {ofLine(line, at, pen, tones[at])}
            {'\n'}
          </span>
        ))}
      </pre>
    </>
  );
}
