import { readFile } from 'node:fs/promises';
import { CountersignError } from '../../../workflows/domain/errors.ts';

/**
 * The text of a secret that is in the configuration, or in a file that it names. Throws `ERR_CONFIG_INVALID`, with the
 * setting and never the text, when it cannot be read or is too short to be secret.
 */
export async function secretText(secret: string | { readonly file: string }, setting: string): Promise<string> {
  const text = typeof secret === 'string' ? secret : await contentOf(secret.file, setting);
  if (text.length >= 16) return text;
  throw new CountersignError('ERR_CONFIG_INVALID', `${setting} is too short: at least 16 characters`);
}

async function contentOf(file: string, setting: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new CountersignError('ERR_CONFIG_INVALID', `${setting}: the file ${file} cannot be read`, { cause });
  }
}
