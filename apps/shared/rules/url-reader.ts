import type { UrlReader } from '../../../workflows/domain/spellings/address.ts';

/** The reader of this runtime. */
export const readUrl: UrlReader = (text) => (URL.canParse(text) ? new URL(text) : undefined);
