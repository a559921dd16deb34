import { domainToASCII } from 'node:url';
import * as z from 'zod';

/** A local part in letters of any script, as RFC 6531, section 3.3, extends that of RFC 5321. */
const LOCAL = /^(?=.{1,64}$)[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u;
/** Labels of a domain, of which the last is no number. */
const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/**
 * An address to which mail can be sent, with its domain in ASCII (A-labels, RFC 5890). Undefined for another text. Only a server with
 * SMTPUTF8 takes mail for a local part outside ASCII.
 */
export function mailAddressOf(text: string | undefined): string | undefined {
  if (text === undefined || z.email().safeParse(text).success) return text;
  const [, local = '', domain = ''] = /^([^@]+)@([^@/?#:\\\s]+)$/.exec(text) ?? [];
  const ascii = domainToASCII(domain);
  return LOCAL.test(local) && DOMAIN.test(ascii) ? `${local}@${ascii}` : undefined;
}

/** Whether only a server with SMTPUTF8 takes mail for this address. @see RFC 6531 */
export const needsSmtpUtf8 = (address: string): boolean => /[^\x20-\x7e]/.test(address);
