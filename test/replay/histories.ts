import { Worker, type WorkflowBundle } from '@temporalio/worker';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { ReplayHistoriesIterable } from '@temporalio/worker';
import { packagePath } from '../../apps/shared/config/files.ts';
import { TURN_LIMIT } from '../../apps/shared/temporal/worker.ts';

/** The engine's histories of workflows, recorded by `npm run replay:record`. */
export const HISTORIES = packagePath('test', 'replay', 'histories');

type History = Extract<ReplayHistoriesIterable, Iterable<unknown>> extends Iterable<{ history: infer H }> ? H : never;

/** The engine's own messages, which its SDK does not export. */
const { temporal } = createRequire(packagePath('node_modules', '@temporalio', 'worker', 'package.json'))(
  '@temporalio/proto',
) as { temporal: { api: { history: { v1: { History: { fromObject(json: unknown): History } } } } } };

/** The history of its JSON form, ready for replay. */
const historyOf = (json: unknown): History => temporal.api.history.v1.History.fromObject(json);

export interface Recorded {
  readonly name: string;
  readonly text: string;
  readonly history: { readonly events: readonly Record<string, unknown>[] };
}

export function recordedHistories(): Recorded[] {
  return readdirSync(HISTORIES).map((name) => {
    const text = readFileSync(join(HISTORIES, name), 'utf8');
    return { name, text, history: JSON.parse(text) as Recorded['history'] };
  });
}

/**
 * Replays these histories with the present workflows. Answers the error for each one that they cannot continue, and
 * otherwise undefined.
 */
export async function replay(
  histories: readonly Recorded[],
  workflowBundle: WorkflowBundle,
): Promise<Record<string, string | undefined>> {
  const given = histories.map(({ name, history }) => ({ workflowId: name, history: historyOf(history) }));
  const said: Record<string, string | undefined> = {};
  for await (const result of Worker.runReplayHistories({ workflowBundle, replayName: 'test', ...TURN_LIMIT }, given)) {
    said[result.workflowId] = result.error?.name;
  }
  return said;
}
