import type { CheckResult, Group } from './groups.ts';
import { startOwnPdp } from './own-pdp.ts';
import { validated } from './schemas.ts';
import type { Target } from './target.ts';

export interface Score {
  readonly group: string;
  readonly results: readonly CheckResult[];
}

export const passed = ({ results }: Score): number => results.filter(({ misses }) => misses.length === 0).length;
export const isFull = (score: Score): boolean => score.results.length > 0 && passed(score) === score.results.length;

type OnScore = (score: Score) => void;

/** Runs groups against one PDP with any policies; the last score is that of the published schemas. */
export async function runAgainst(target: Target, groups: readonly Group[], onScore: OnScore): Promise<void> {
  const { target: watched, results } = validated(target);
  for (const group of groups) onScore({ group: group.name, results: await group.run(watched) });
  if (results().length > 0) onScore({ group: 'schemas', results: results() });
}

/** Runs each group against its own decision point, which has the policies of the group's scenario. */
export async function runOwn(groups: readonly Group[], databaseUrl: string, onScore: OnScore): Promise<void> {
  const schemas: CheckResult[] = [];
  for (const folder of new Set(groups.map(({ scenario }) => scenario))) {
    const { pdp, target } = await startOwnPdp(folder, databaseUrl);
    try {
      const { target: watched, results } = validated(target);
      for (const group of groups.filter(({ scenario }) => scenario === folder))
        onScore({ group: group.name, results: await group.run(watched) });
      schemas.push(...results());
    } finally {
      await pdp.stop();
    }
  }
  if (schemas.length > 0) onScore({ group: 'schemas', results: schemas });
}
