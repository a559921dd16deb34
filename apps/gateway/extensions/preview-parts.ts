import { canonicalJson, type Json, type JsonObject, objectOf } from '../../../workflows/domain/canonical-json.ts';
import type { PreviewPart } from '../../../workflows/domain/tools/preview.ts';

/** How much of an answer goes to the approvers, as bytes of JSON. The digest is always over the whole answer. */
const SHOWN_BYTES = 64 * 1024;
/** A part without text costs little, so their number is limited, too. */
const MAX_PARTS = 100;
/** The name of a content type is the server's. */
const MAX_TYPE_LENGTH = 64;

const bytesOf = (text: string) => Buffer.byteLength(JSON.stringify(text));

/** The parts of a tool result that are shown: its texts in their order, up to the limit. `isCut`: there is more. */
export function shownParts(result: JsonObject): { readonly parts: readonly PreviewPart[]; readonly isCut?: true } {
  const all = partsOf(result);
  const parts: PreviewPart[] = [];
  let room = SHOWN_BYTES;
  for (const part of all.slice(0, MAX_PARTS)) {
    const shown = 'text' in part ? { text: begin(part.text, room) } : part;
    parts.push(shown);
    if ('text' in shown && 'text' in part && shown.text !== part.text) return { parts, isCut: true };
    room -= 'text' in shown ? bytesOf(shown.text) : MAX_TYPE_LENGTH;
    if (room <= 0) return { parts, ...(parts.length < all.length && { isCut: true }) };
  }
  return { parts, ...(parts.length < all.length && { isCut: true }) };
}

/** A structured result is shown where no text is: a server repeats it in a text otherwise. */
function partsOf({ content, structuredContent }: JsonObject): readonly PreviewPart[] {
  const blocks = (Array.isArray(content) ? content : []) as readonly Json[];
  const parts = blocks.map(partOf);
  if (structuredContent === undefined || parts.some((part) => 'text' in part)) return parts;
  return [...parts, { text: canonicalJson(structuredContent) }];
}

function partOf(block: Json): PreviewPart {
  const { type, text } = objectOf(block);
  if (type === 'text' && typeof text === 'string') return { text };
  const name = typeof type === 'string' ? type : 'unknown';
  return { type: name.slice(0, MAX_TYPE_LENGTH).toWellFormed(), characters: canonicalJson(block).length };
}

/** As much of the text from its beginning as has room, without splitting a character. */
function begin(text: string, room: number): string {
  if (bytesOf(text) <= room) return text;
  let [end, left] = [0, room];
  for (const character of text) {
    // Without the quotation marks.
    left -= bytesOf(character) - 2;
    if (left < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}
