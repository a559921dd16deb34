import { isUtf8 } from 'node:buffer';
import { MAX_LEVELS, MAX_MEMBERS, unfaithful, type Unfaithful } from '../../../workflows/domain/faithful-json.ts';

/** Looks at the bytes of a body before a parser of express parses them. */
type Verify = (request: unknown, response: unknown, body: Buffer, charset: string) => void;

/**
 * Throws before the body is parsed, when parsing it would change what it says, or cost too much. What is looked at has to be what
 * is parsed, so no other character set is taken. @see RFC 8259, section 8.1
 */
const refuse =
  (maxMembers: number): Verify =>
  (_request, _response, body, charset) => {
    const fault = charset === 'utf-8' ? faultOf(body, maxMembers) : 'charset.unsupported';
    if (fault !== undefined) throw unreadable(fault);
  };

/** Of what clients, people and other senders send. */
export const refuseUnfaithful = refuse(MAX_MEMBERS.message);
/** Of what the services of this product, and those in their place, send to one another. */
export const refuseUnfaithfulOfService = refuse(MAX_MEMBERS.service);

/** The value of a text that was received as a whole. Throws what `bodyFaultOf` knows. */
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

/** Bytes that are no UTF-8 would be read as replacement characters, and two texts become one. */
const faultOf = (body: Buffer, maxMembers: number): Fault | undefined =>
  isUtf8(body) ? unfaithful(body.toString('utf8'), maxMembers) : 'body.not_utf8';

const unreadable = (type: Fault) => Object.assign(new Error('the body would not be read as it is written'), { type });

/** Why a body was not read. `message` is for people, starts in lower case and quotes nothing of the body. */
export interface BodyFault {
  readonly kind: 'malformed' | 'too_large' | 'encoding' | 'charset' | 'incomplete';
  readonly status: 400 | 413 | 415;
  readonly message: string;
}

/** Of a body that no parser of JSON takes. */
export const NOT_JSON = 'the body is not JSON';

/** Of a body that has more in it than is read. */
export const TOO_MANY_MEMBERS =
  `the body has too many members and elements, of which a message may have ${MAX_MEMBERS.message}, and one between ` +
  `services ${MAX_MEMBERS.service}: send less at a time`;

/** What express's body parsers, and our check of what they read, call the faults of a body. */
const FAULTS: ReadonlyMap<unknown, BodyFault> = new Map<unknown, BodyFault>([
  ['entity.parse.failed', { kind: 'malformed', status: 400, message: NOT_JSON }],
  ['body.not_utf8', { kind: 'malformed', status: 400, message: 'the body is not UTF-8' }],
  ['body.member_twice', { kind: 'malformed', status: 400, message: 'the body gives a member twice' }],
  [
    'body.member_lost',
    { kind: 'malformed', status: 400, message: 'the body has a member with a name that cannot be kept' },
  ],
  [
    'body.number_inexact',
    { kind: 'malformed', status: 400, message: 'the body has a number that is too long to be kept exactly' },
  ],
  [
    'body.character_broken',
    { kind: 'malformed', status: 400, message: 'the body has half a character (a surrogate without the other one)' },
  ],
  [
    'body.marked',
    { kind: 'malformed', status: 400, message: 'the body begins with a byte order mark: send it without one' },
  ],
  [
    'body.too_deep',
    {
      kind: 'malformed',
      status: 400,
      message: `the body has more than ${MAX_LEVELS} levels of objects and lists: send it with fewer`,
    },
  ],
  ['body.too_many', { kind: 'malformed', status: 400, message: TOO_MANY_MEMBERS }],
  ['entity.too.large', { kind: 'too_large', status: 413, message: 'the body is too large' }],
  ['encoding.unsupported', { kind: 'encoding', status: 415, message: 'the content encoding is not supported' }],
  ['charset.unsupported', { kind: 'charset', status: 415, message: 'the character set is not supported: send UTF-8' }],
  ['request.aborted', { kind: 'incomplete', status: 400, message: 'the body is not complete' }],
  ['request.size.invalid', { kind: 'incomplete', status: 400, message: 'the body is not as long as announced' }],
]);

const NOT_UNPACKED: BodyFault = { kind: 'encoding', status: 400, message: 'the body is not compressed as it says' };

/** The fault of a body that an error of a body parser stands for; undefined for every other error. */
export function bodyFaultOf(error: unknown): BodyFault | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('type' in error) return FAULTS.get(error.type);
  // The parser gives an error of the decompression no name of its own, only the status of a fault of the body.
  return 'errno' in error && 'status' in error && error.status === 400 ? NOT_UNPACKED : undefined;
}
