import { isUtf8 } from 'node:buffer';
import { MAX_LEVELS, MAX_MEMBERS, unfaithful, type Unfaithful } from '../../../workflows/domain/faithful-json.ts';

/** Sees the bytes of a body before a parser of express does. */
type Verify = (request: unknown, response: unknown, body: Buffer, charset: string) => void;

/**
 * Throws before a body is parsed, when parsing would change its meaning or cost too much. The checked text has to be the parsed one, so
 * only UTF-8 is accepted. @see RFC 8259, section 8.1
 */
const refuse =
  (maxMembers: number): Verify =>
  (_request, _response, body, charset) => {
    const fault = charset === 'utf-8' ? faultOf(body, maxMembers) : 'charset.unsupported';
    if (fault !== undefined) throw unreadable(fault);
  };

/** For bodies of clients, people and other senders. */
export const refuseUnfaithful = refuse(MAX_MEMBERS.message);
/** For bodies that the services of this product, or replacements of them, send to one another. */
export const refuseUnfaithfulOfService = refuse(MAX_MEMBERS.service);

/** Parses a text that was received as a whole. Throws errors that `bodyFaultOf` knows. */
export function parseFaithful(text: string, maxMembers: number = MAX_MEMBERS.message): unknown {
  const fault = unfaithful(text, maxMembers);
  if (fault !== undefined) throw unreadable(fault);
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable('entity.parse.failed');
  }
}

type Fault = Unfaithful | 'body.not_utf8' | 'charset.unsupported' | 'entity.parse.failed';

/** Bytes that are not UTF-8 would be read as replacement characters, and two texts would become one. */
const faultOf = (body: Buffer, maxMembers: number): Fault | undefined =>
  isUtf8(body) ? unfaithful(body.toString('utf8'), maxMembers) : 'body.not_utf8';

const unreadable = (type: Fault) => Object.assign(new Error('the body would not be read as it is written'), { type });

/** Why a body was not read. `message` is for people, starts in lower case and quotes nothing of the body. */
export interface BodyFault {
  readonly kind: 'malformed' | 'too_large' | 'encoding' | 'charset' | 'incomplete';
  readonly status: 400 | 413 | 415;
  readonly message: string;
}

export const NOT_JSON = 'the body is not JSON';
export const TOO_MANY_MEMBERS =
  `the body has too many members and elements: a message may have ${MAX_MEMBERS.message}, and one between ` +
  `services ${MAX_MEMBERS.service}; send less at a time`;

const MALFORMED = {
  'entity.parse.failed': NOT_JSON,
  'body.not_utf8': 'the body is not UTF-8',
  'body.member_twice': 'the body gives a member twice',
  'body.member_lost': 'the body has a member with a name that cannot be kept',
  'body.number_inexact': 'the body has a number that is too long to be kept exactly',
  'body.character_broken': 'the body has half a character (a surrogate without the other one)',
  'body.marked': 'the body begins with a byte order mark: send it without one',
  'body.too_deep': `the body has more than ${MAX_LEVELS} levels of objects and lists: send it with fewer`,
  'body.too_many': TOO_MANY_MEMBERS,
} satisfies Record<Exclude<Fault, 'charset.unsupported'>, string>;

/** The faults of a body, by the names that express's body parsers and our own check give them. */
const FAULTS: ReadonlyMap<unknown, BodyFault> = new Map<unknown, BodyFault>([
  ...Object.entries(MALFORMED).map(([type, message]) => [type, { kind: 'malformed', status: 400, message }] as const),
  ['entity.too.large', { kind: 'too_large', status: 413, message: 'the body is too large' }],
  ['encoding.unsupported', { kind: 'encoding', status: 415, message: 'the content encoding is not supported' }],
  ['charset.unsupported', { kind: 'charset', status: 415, message: 'the character set is not supported: send UTF-8' }],
  ['request.aborted', { kind: 'incomplete', status: 400, message: 'the body is not complete' }],
  ['request.size.invalid', { kind: 'incomplete', status: 400, message: 'the body is not as long as announced' }],
]);

const NOT_UNPACKED: BodyFault = {
  kind: 'encoding',
  status: 400,
  message: 'the body is not compressed as its header says',
};

/** The fault behind an error of a body parser; undefined for any other error. */
export function bodyFaultOf(error: unknown): BodyFault | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('type' in error) return FAULTS.get(error.type);
  // The parser gives an error of the decompression no type, only the status 400.
  return 'errno' in error && 'status' in error && error.status === 400 ? NOT_UNPACKED : undefined;
}
