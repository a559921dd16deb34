/** Longest path that a sign-in brings people back to; it travels in a cookie. */
const LONGEST = 1_000;
const START = '/';

/**
 * The path on this site that `wanted` leads to, for a redirect: it begins with exactly one slash, has no backslash, and no
 * browser takes it for the address of another site. The start for everything that leads elsewhere, or is no address.
 *
 * The address is parsed first and the path written from what was parsed. `/.//other.example` has the path `//other.example`,
 * which is on this site as part of an address and on another one as a redirect.
 * @see WHATWG URL Standard, path-absolute-URL string and scheme-relative URL string
 */
export function ownPath(wanted: unknown, baseUrl: string): string {
  const { origin, protocol } = new URL(baseUrl);
  if (typeof wanted !== 'string' || !URL.canParse(wanted, origin)) return START;
  const target = new URL(wanted, origin);
  if (target.origin !== origin || target.protocol !== protocol) return START;
  const path = `/${target.pathname.replace(/^[/\\]+/, '')}${target.search}`.replaceAll('\\', '%5C');
  return path.length <= LONGEST ? path : START;
}
