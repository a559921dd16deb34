/** The same text with another character in its middle. At the end of encoded bytes, several characters can stand for the same ones. */
export function altered(text: string): string {
  const at = Math.floor(text.length / 2);
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
}
