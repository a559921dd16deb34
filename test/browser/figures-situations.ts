import type { ApprovalsUnderTest } from '../support/approvals.ts';
import { manyEnded } from '../support/many-ended.ts';
import type { Situation } from '../support/situations.ts';

/** The page with the figures, for the overseer `olga`. */
export const figuresSituations = (service: ApprovalsUnderTest): Situation[] => [
  { name: 'figures for an overseer only', as: 'alice', prepare: async () => '/figures', status: 403 },
  {
    name: 'figures of days without decisions',
    as: 'olga',
    prepare: async () => '/figures?from=2020-01-01&to=2020-01-31',
  },
  { name: 'no such figures', as: 'olga', prepare: async () => '/figures?sort=odd', status: 400 },
  {
    name: 'figures',
    as: 'olga',
    prepare: async () => (await manyEnded(service.database.pool, 140), '/figures?limit=5'),
  },
];
