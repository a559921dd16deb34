const ARGUMENT = /\{([^{}]+)\}/;

/** Words of a template, or the path of an argument in it. */
export type TemplatePart = { readonly words: string } | { readonly path: string };

/** The parts of a template such as `Write {path}`, in order. Paths are written as in `Leaf`. */
export function templateParts(template: string): TemplatePart[] {
  // A pattern with one group makes `split` return texts and groups in turn.
  return template
    .split(ARGUMENT)
    .map((text, at) => (at % 2 === 0 ? { words: text } : { path: text.trim() }))
    .filter((part) => !('words' in part) || part.words !== '');
}

/** Whether all braces enclose the path of an argument. */
export const isSummaryTemplate = (template: string): boolean =>
  templateParts(template).every((part) => ('words' in part ? !/[{}]/.test(part.words) : part.path !== ''));
