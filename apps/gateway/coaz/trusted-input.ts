import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { ownMember } from '../../../workflows/domain/own-member.ts';
import type { Principal } from '../../../workflows/domain/principal.ts';
import { MappingError } from '../../shared/coaz/mapping-error.ts';
import type { Mapping } from '../../shared/coaz/mapping.ts';
import { expressionsIn } from '../../shared/coaz/template.ts';

/** Who sends a message, and what the verified token says. */
export interface Sender {
  readonly caller: Principal;
  readonly claims: JsonObject;
}

/** The subject of a verified token, or what takes its place by agreement with the issuer (COAZ-IM-05, COAZ-IM-06). */
export function identityOf({ caller, claims }: Sender, claim: string): string {
  if (claim === 'sub') return caller.subject;
  const identity = ownMember(claims, claim);
  if (typeof identity === 'string' && identity !== '') return identity;
  throw new MappingError(`the token has no claim "${claim}", which says on whose behalf it is used`);
}

/** The one audience of the token that is this server: never a list of them (COAZ-DF-11 to 13). */
export function audienceOf({ claims }: Sender, own: string): string {
  const { aud } = claims;
  if (aud === own || (Array.isArray(aud) && aud.includes(own))) return own;
  throw new MappingError('the token names no audience that is this server');
}

/** Where a subject comes from that is not the token's: from the message is worse (COAZ-SU-05). */
export function sourceOf({ shared, questions: [first] }: Mapping): 'token' | 'message' {
  const { subject } = shared.subject === undefined ? (first ?? {}) : shared;
  if (subject === undefined) return 'token';
  const reads = expressionsIn(subject).flatMap(({ expression }) => expression.reads);
  return reads.length > 0 && reads.every(({ root }) => root === 'token') ? 'token' : 'message';
}
