/** Texts, and what the documentation of rules says of each. Written by hand, since the model shares no code with the compiler. */

/** A member that is missing is not known. */
export interface Known {
  readonly isPlain?: true;
  readonly path?: { readonly kind: string; readonly text: string };
  readonly name?: string;
  readonly url?: { readonly scheme: string; readonly host: string; readonly port: number; readonly path: string };
}

const relative = (text: string) => ({ kind: 'relative', text });
const unix = (text: string) => ({ kind: 'unix', text });
export const TEXTS: Readonly<Record<string, Known>> = {
  a: { isPlain: true, path: relative('a/'), name: 'a' },
  'a/b': { isPlain: true, path: relative('a/b/'), name: 'b' },
  '/srv/x': { isPlain: true, path: unix('/srv/x/'), name: 'x' },
  '/srv//x/': { path: unix('/srv/x/'), name: 'x' },
  '/SRV/x': { isPlain: true, path: unix('/SRV/x/'), name: 'x' },
  '/srv/../x': { name: 'x' },
  '..': {},
  'x..': { isPlain: true },
  main: { isPlain: true, path: relative('main/'), name: 'main' },
  '*': { isPlain: true, path: relative('*/'), name: '*' },
  'A"\\\n': {},
  '': { isPlain: true },
  'c:\\srv\\.\\X': { path: { kind: 'drive', text: 'C:/srv/X/' }, name: 'X' },
  'https://h.test/srv/x': {
    isPlain: true,
    name: 'x',
    url: { scheme: 'https', host: 'h.test', port: 443, path: '/srv/x/' },
  },
  'HTTP://a.H.test:8080/%73rv/': {
    url: { scheme: 'http', host: 'a.h.test', port: 8080, path: '/srv/' },
  },
  'https://h.test@e.test/': { name: 'h.test@e.test' },
};
export const FOLDERS: Readonly<Record<string, { readonly kind: string; readonly text: string }>> = {
  '/srv': unix('/srv/'),
  '/srv/./x/': unix('/srv/x/'),
  a: relative('a/'),
  'C:\\srv': { kind: 'drive', text: 'C:/srv/' },
};
