import { isUtf8 } from 'node:buffer';
import { MAX_MEMBERS, unfaithful, type Unfaithful } from '../../../workflows/domain/faithful-json.ts';

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
