import { visiblePieces } from './visible-text.ts';

/** Foreign text that cannot pretend to be anything else: nothing in it is hidden, and it cannot turn its surroundings. */
export function Visible({ text }: { text: string }) {
  return (
    <bdi class="foreign">
      {visiblePieces(text).map((piece, i) => {
        if (piece.kind === 'plain') return piece.text;
        if (piece.kind === 'escape') {
          return (
            <span key={i} class="escape" title="A character that does not show, or misleads">
              {piece.text}
            </span>
          );
        }
        return (
          <mark key={i} class="mixed" title="Letters of different alphabets in one word">
            {piece.text}
          </mark>
        );
      })}
    </bdi>
  );
}

/** An identifier, a name or a digest in a fixed-width font. */
export function Code({ text }: { text: string }) {
  return (
    <code>
      <Visible text={text} />
    </code>
  );
}
