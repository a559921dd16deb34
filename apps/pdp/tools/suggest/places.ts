import { addressForm } from '../../../../workflows/domain/spellings/address.ts';
import { pathForm } from '../../../../workflows/domain/spellings/path.ts';
import { readUrl } from '../../../shared/rules/url-reader.ts';
import type { WrittenPlace } from '../../../shared/rules/written-place.ts';

/** What several texts name: a folder, or a host with a folder of it. */
export interface Place {
  /** Places with different roots have nothing in common. */
  readonly root: string;
  readonly parts: readonly string[];
  /** The condition of all that is here. Undefined if it would be no limit. */
  readonly written: (parts: readonly string[]) => WrittenPlace | undefined;
}

const partsOf = (text: string) => text.split('/').filter((part) => part !== '');

/** What a text names, if programs agree on that. */
export function placeOf(text: string): Place | undefined {
  const { scheme = '', host, port, path } = addressForm(text, readUrl) ?? {};
  if (host !== undefined && path !== undefined) {
    const at = { scheme, host, ...(port !== undefined && { port }) };
    return {
      root: JSON.stringify(at),
      parts: partsOf(path),
      written: (parts) => ({ url: { ...at, ...(parts.length > 0 && { path: { under: `/${parts.join('/')}` } }) } }),
    };
  }
  const { whole } = pathForm(text);
  if (whole === undefined) return undefined;
  const root = whole.kind === 'relative' ? '' : whole.text.slice(0, whole.text.indexOf('/') + 1);
  return {
    root: `${whole.kind} ${root}`,
    parts: partsOf(whole.text.slice(root.length)),
    written: (parts) => (parts.length === 0 ? undefined : { path: { under: `${root}${parts.join('/')}` } }),
  };
}

/** The narrowest place that both are in. */
export function commonPlace(one: Place | undefined, other: Place | undefined): Place | undefined {
  if (one === undefined || one.root !== other?.root) return undefined;
  const differs = one.parts.findIndex((part, index) => part !== other.parts[index]);
  return differs === -1 ? one : { ...one, parts: one.parts.slice(0, differs) };
}

/** Whether a text is written like an absolute path or an address. Without a limit on such an argument, a rule would allow every place. */
export const looksLikePlace = (text: string): boolean => /^(\/|[a-z]:[/\\]|[a-z][a-z0-9+.-]*:\/\/)\S*$/i.test(text);
