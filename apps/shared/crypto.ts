import { createHash, randomBytes } from 'node:crypto';
import type { Sha256 } from '../../workflows/domain/gated-call/call-binding.ts';

/** SHA-256 of the UTF-8 bytes of a text, in lower-case hex. */
export const sha256: Sha256 = (text) => createHash('sha256').update(text, 'utf8').digest('hex');

/** So many random bytes, base64url. */
export const randomText = (bytes: number): string => randomBytes(bytes).toString('base64url');
