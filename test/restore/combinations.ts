import type { Combination } from './drill.ts';

/**
 * Ways in which database and engine come back, and who notices. ARCHITECTURE.md says why. A database from a template notices as
 * one that was loaded does, with any engine.
 */
export const COMBINATIONS: readonly Combination[] = [
  { database: 'rows', engine: 'kept', noticedBy: 'product' },
  { database: 'rows', engine: 'restored', noticedBy: 'product' },
  { database: 'rows', engine: 'emptied', noticedBy: 'product' },
  { database: 'template', engine: 'kept', noticedBy: 'product' },
  { database: 'files', engine: 'kept', noticedBy: 'product' },
  { database: 'recovered', engine: 'kept', noticedBy: 'product' },
  { database: 'recovered', engine: 'emptied', noticedBy: 'product' },
  { database: 'files', engine: 'restored', noticedBy: 'person' },
  { database: 'files', engine: 'emptied', noticedBy: 'person' },
  { database: 'kept', engine: 'restored', noticedBy: 'nothing to notice' },
  { database: 'kept', engine: 'emptied', noticedBy: 'nothing to notice' },
];
