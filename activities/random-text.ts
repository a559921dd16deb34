import { randomBytes } from 'node:crypto';

/** So many random bytes, base64url. */
export const randomText = (bytes: number): string => randomBytes(bytes).toString('base64url');
