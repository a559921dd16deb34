import { isUtf8 } from 'node:buffer';
import { unfaithful } from '../../../workflows/domain/faithful-json.ts';

/**
 * Throws before the body is parsed, when parsing it would change what it says. What is looked at has to be what is parsed, so
 * no other character set is taken. @see RFC 8259, section 8.1
 */
export function refuseUnfaithful(_request: unknown, _response: unknown, body: Buffer, charset: string): void {
  const type = charset === 'utf-8' ? faultOf(body) : 'charset.unsupported';
  if (type !== undefined) throw Object.assign(new Error('the body would not be read as it is written'), { type });
}

/** Bytes that are no UTF-8 would be read as replacement characters, and two texts become one. */
const faultOf = (body: Buffer) => (isUtf8(body) ? unfaithful(body.toString('utf8')) : 'body.not_utf8');
