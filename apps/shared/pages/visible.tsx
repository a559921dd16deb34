import { visiblePieces, type Piece } from './visible-text.ts';

/** Foreign text that cannot pretend to be anything else: nothing in it is hidden, and it cannot turn its surroundings. */
export function Visible({ text }: { text: string }) {
  return (
    <bdi class="foreign" dir="ltr">
      {visiblePieces(text).map(show)}
    </bdi>
  );
}

function show({ kind, text }: Piece, key: number) {
  switch (kind) {
    case 'plain':
      return text;
    case 'rtl':
      return <bdi key={key}>{text}</bdi>;
    case 'escape':
      return (
        <span key={key} class="escape" title="A character that does not show, or misleads">
          {text}
        </span>
      );
    case 'mixed':
      return (
        <mark key={key} class="mixed" title="Letters of different alphabets in one word">
          {text}
        </mark>
      );
  }
}

/** An identifier, a name or a digest in a fixed-width font. */
export function Code({ text }: { text: string }) {
  return (
    <code>
      <Visible text={text} />
    </code>
  );
}
