import { hasUnclearLetters } from './letters.ts';

/**
 * What a text names if it is an absolute address. A member is missing if programs could read it in different ways: nothing is known about
 * it then.
 */
export interface AddressForm {
  /** In lower case, without the colon. */
  readonly scheme: string;
  /** In lower case, without a dot at the end. An IPv6 address is in brackets. */
  readonly host?: string;
  /** Also where the address leaves it to the scheme. */
  readonly port?: number;
  /** The decoded parts, each with one slash behind it: `/docs/a/`. */
  readonly path?: string;
}

/** An address as the URL Standard reads it. The domain has no reader of its own. */
export interface ReadUrl {
  readonly protocol: string;
  readonly hostname: string;
  readonly port: string;
  readonly href: string;
}

/** Reads an absolute address by the URL Standard. Undefined for a text that is none. */
export type UrlReader = (text: string) => ReadUrl | undefined;

/** The parts of an address as it is written: scheme, host with port, and path. Without an account, which hides the host. */
const WRITTEN = /^([a-z][a-z0-9+.-]*):\/\/([^/?#@]*)(\/[^?#]*)?(?=[?#]|$)/i;
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i;
const PORTS: Readonly<Record<string, number>> = { http: 80, ws: 80, https: 443, wss: 443, ftp: 21 };

/**
 * The form of an absolute address. Undefined for every text that programs could take for another address than the URL Standard does: with
 * an account, a backslash, blanks, or fewer slashes.
 *
 * @see https://url.spec.whatwg.org/
 */
export function addressForm(text: string, read: UrlReader): AddressForm | undefined {
  if (/[\s\\]/.test(text) || hasUnclearLetters(text)) return undefined;
  const [, writtenScheme, authority, writtenPath = '/'] = WRITTEN.exec(text) ?? [];
  if (writtenScheme === undefined || authority === undefined) return undefined;
  const url = read(text);
  const scheme = writtenScheme.toLowerCase();
  if (url?.protocol !== `${scheme}:`) return undefined;
  const [, writtenHost = ''] = AUTHORITY.exec(authority) ?? [];
  const host = withoutLastDot(writtenHost.toLowerCase());
  // The standard reads `0x7f.1`, `%65.test` and `ⓔ.test` as other hosts than they are written. Other programs do not.
  const isHostKnown =
    host !== '' && !host.split('.').includes('') && host === withoutLastDot(url.hostname.toLowerCase());
  const port = url.port === '' ? PORTS[scheme] : Number(url.port);
  const path = decodedPath(writtenPath);
  return {
    scheme,
    ...(isHostKnown && { host, ...(port !== undefined && { port }) }),
    ...(path !== undefined && { path }),
  };
}

const withoutLastDot = (host: string) => (host.endsWith('.') ? host.slice(0, -1) : host);

/** Escapes of separators, and of the escape itself. Servers decode them before or after they take a path apart. */
const ESCAPED_SEPARATORS = /%(?:2f|5c|25)/i;

/**
 * The decoded path of an address. Undefined if servers read it in different ways: with empty parts, parts that lead upwards, parameters
 * behind `;`, or escapes that are no text.
 */
export function decodedPath(written: string): string | undefined {
  if (ESCAPED_SEPARATORS.test(written)) return undefined;
  let decoded: string;
  try {
    decoded = decodeURIComponent(written);
  } catch {
    return undefined;
  }
  if (/[\\;]/.test(decoded) || hasUnclearLetters(decoded)) return undefined;
  const parts = decoded.replace(/^\//, '').replace(/\/$/, '').split('/');
  if (parts.length === 1 && parts[0] === '') return '/';
  return parts.some((part) => part === '' || part === '.' || part === '..') ? undefined : `/${parts.join('/')}/`;
}

/**
 * A host pattern in the form of hosts: in lower case and ASCII, with `*.` before it for all hosts below it. Undefined for a text that is
 * no such pattern.
 */
export function hostPattern(text: string, read: UrlReader): string | undefined {
  const [, below = '', name = ''] = /^(\*\.)?([^\s/\\?#@*]+)$/.exec(text) ?? [];
  const url = name === '' ? undefined : read(`https://${name}`);
  if (url === undefined) return undefined;
  const host = withoutLastDot(url.hostname);
  const isAddress = /^\[|^[\d.]+$/.test(host);
  if (url.port !== '' || /:\d*$/.test(name.replace(/^\[.*\]/, '')) || host.split('.').includes('')) return undefined;
  return below !== '' && isAddress ? undefined : `${below}${host}`;
}
