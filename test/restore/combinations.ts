import type { Combination } from './drill.ts';

/**
 * The ways to restore database and engine, and who notices. ARCHITECTURE.md explains why. The product notices a
 * database from a template as it does a loaded one, with any engine.
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
