import { addressForm, type UrlReader } from './address.ts';
import { isNormalized } from './letters.ts';

const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;
/** Escapes of separators, of dots and of the escape itself. */
const ESCAPED = /%(?:2e|2f|5c|25)/i;

/**
 * Whether the text is the one spelling of what it names, if it is a path or an address. Another text would name the same file where one
 * has a part that is empty, `.` or `..`, a separator at the end, a backslash, or an escape of one of these. A pattern says nothing about
 * such a text.
 */
export function isPlain(text: string, read: UrlReader): boolean {
  if (!isNormalized(text) || text.includes('\\')) return false;
  if (ADDRESS.test(text)) {
    const form = addressForm(text, read);
    const url = read(text);
    return form?.path !== undefined && form.host === url?.hostname && url?.href === text;
  }
  const parts = text.replace(/^\//, '').split('/');
  const isText = parts.length === 1 && text === parts[0];
  const isClear = !parts.some((part) => part === '.' || part === '..' || (part === '' && !isText));
  return isClear && !ESCAPED.test(text);
}
