import { MAX_LEVELS, MAX_MEMBERS } from '../../../workflows/domain/faithful-json.ts';

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
