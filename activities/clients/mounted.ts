import type { UpstreamConnection } from './upstream-connection.ts';

/** Between the prefix of an upstream and its own name for a thing. No prefix has it. */
const SEPARATOR = '__';

/** An upstream among others. */
export interface Mounted {
  readonly connection: UpstreamConnection;
  /** What the public names of its tools and prompts begin with, separator included. Empty: they are the upstream's own. */
  readonly start: string;
}

/** Every upstream whose prefix begins the name: `a` and `a_` may both be meant by `a___b`, and one without any always. */
export const candidatesFor = (name: string, upstreams: ReadonlyMap<string, Mounted>): [string, Mounted][] =>
  [...upstreams].filter(([, { start }]) => name.startsWith(start));

/** What public names begin with that have this prefix. */
export const startOf = (prefix: string) => (prefix === '' ? '' : `${prefix}${SEPARATOR}`);
