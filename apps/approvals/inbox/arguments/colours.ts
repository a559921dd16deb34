import core from 'highlight.js/lib/core';
import css from 'highlight.js/lib/languages/css';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import type { Emitter } from 'highlight.js';
import type { Piece } from '../../../shared/pages/visible-text.ts';

/** A part of a line that has a colour. */
export interface Tone {
  readonly from: number;
  readonly to: number;
  readonly tone: string;
}

/** Not of shells: what is dangerous there (`rm`, a pipe into a shell) is no keyword, and colours would stress the rest. */
const GRAMMARS = { css, go, ini, java, javascript, json, python, rust, sql, typescript, xml, yaml };
export type Language = keyof typeof GRAMMARS | 'bash';

/** Roles of text in a program, by the first word of the library's name for them. */
const TONES: Readonly<Record<string, string>> = {
  ...{ comment: 'tone-comment', quote: 'tone-comment' },
  ...{ keyword: 'tone-word', built_in: 'tone-word', literal: 'tone-number', number: 'tone-number' },
  ...{ 'selector-tag': 'tone-word', name: 'tone-word', tag: 'tone-word', type: 'tone-word', meta: 'tone-word' },
  ...{ string: 'tone-text', regexp: 'tone-text', symbol: 'tone-text', char: 'tone-text' },
  ...{ title: 'tone-name', attr: 'tone-name', attribute: 'tone-name', section: 'tone-name', property: 'tone-name' },
};

/** Takes what the library finds as ranges of the text instead of HTML. */
class Ranges implements Emitter {
  readonly found: Tone[] = [];
  readonly #open: (string | undefined)[] = [];
  text = '';

  openNode(name: string): void {
    this.#open.push(TONES[name.split('.')[0] ?? ''] ?? this.#open.at(-1));
  }
  closeNode(): void {
    this.#open.pop();
  }
  startScope(name: string): void {
    this.openNode(name);
  }
  endScope(): void {
    this.closeNode();
  }
  addText(text: string): void {
    const tone = this.#open.at(-1);
    const from = this.text.length;
    this.text += text;
    if (tone !== undefined) this.found.push({ from, to: this.text.length, tone });
  }
  __addSublanguage({ text, found }: Ranges): void {
    const start = this.text.length;
    for (const { from, to, tone } of found) this.found.push({ from: start + from, to: start + to, tone });
    this.text += text;
  }
  finalize(): void {}
  toHTML(): string {
    return '';
  }
}

const library = core.newInstance();
library.configure({ __emitter: Ranges });
for (const [name, grammar] of Object.entries(GRAMMARS)) library.registerLanguage(name, grammar);

/**
 * The library takes time with the square of such runs: two seconds for 20,000 letters without a blank. A page is drawn while other people
 * wait for theirs, and a caller chooses the text.
 */
const SLOW = /\S{200}|\s{200}/;
export const LONGEST_COLOURED = 10_000;

/** The colours of each line of a program. None for a long one, and none where the library does not give back the text as it was. */
export function tonesOf(lines: readonly string[], language: Language): Tone[][] {
  const text = lines.join('\n');
  if (!Object.hasOwn(GRAMMARS, language) || text.length > LONGEST_COLOURED || SLOW.test(text)) return [];
  const { text: seen, found } = library.highlight(text, { language, ignoreIllegals: true })._emitter as Ranges;
  if (seen !== text) return [];
  const tones: Tone[][] = [];
  let [start, at] = [0, 0];
  for (const line of lines) {
    const end = start + line.length;
    const ofLine: Tone[] = [];
    while (at < found.length && (found[at]?.to ?? 0) <= start) at += 1;
    for (let next = at; next < found.length && (found[next]?.from ?? end) < end; next += 1) {
      const { from, to, tone } = found[next] as Tone;
      ofLine.push({ from: Math.max(from, start) - start, to: Math.min(to, end) - start, tone });
    }
    tones.push(ofLine);
    start = end + 1;
  }
  return tones;
}

/** Gives the plain pieces of a line its colours. Marks keep theirs. */
export function toned(pieces: readonly Piece[], tones: readonly Tone[] = []): readonly Piece[] {
  if (tones.length === 0) return pieces;
  const coloured: Piece[] = [];
  let [start, at] = [0, 0];
  for (const piece of pieces) {
    const end = start + lengthOf(piece);
    for (let from = start; from < end;) {
      while (at < tones.length && (tones[at]?.to ?? 0) <= from) at += 1;
      const next = tones[at] ?? { from: end, to: end, tone: '' };
      const isIn = next.from <= from;
      const to = piece.kind === 'plain' ? Math.min(isIn ? next.to : next.from, end) : end;
      if (piece.kind !== 'plain') coloured.push(piece);
      else {
        const text = piece.text.slice(from - start, to - start);
        coloured.push(isIn ? { ...piece, text, tone: next.tone } : { ...piece, text });
      }
      from = to;
    }
    start = end;
  }
  return coloured;
}

/** How much of the line a piece stands for. */
const lengthOf = ({ kind, text }: Piece): number =>
  kind === 'escape' ? (JSON.parse(`"${text}"`) as string).length : text.length;
