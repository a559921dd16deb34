import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { Principal } from '../../workflows/domain/principal.ts';
import type { Guarded } from './guard.ts';

/** What is known of the one request that a server is built for, before it is read. */
export interface Session {
  readonly caller: Principal;
  /** Of the caller's token. */
  readonly claims: JsonObject;
  /** Whether the request speaks the present revision, the only one in which there are tasks. */
  readonly isModern: boolean;
  readonly guarded: Guarded;
}
