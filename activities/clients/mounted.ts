import type { UpstreamConnection } from './upstream-connection.ts';

/** Between the prefix of an upstream and its own name for a thing. No prefix has it. */
const SEPARATOR = '__';

/** An upstream among others. */
export interface Mounted {
  readonly connection: UpstreamConnection;
  /** What the public names of its tools and prompts begin with, separator included. Empty: they are the upstream's own. */
  readonly start: string;
}

/** What public names begin with that have this prefix. */
export const startOf = (prefix: string) => (prefix === '' ? '' : `${prefix}${SEPARATOR}`);
