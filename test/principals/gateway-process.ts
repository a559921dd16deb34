import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { resigned } from '../support/signed-tokens.ts';
import { startStack } from '../support/stack.ts';
import { openWork } from '../support/traces.ts';
import { waitFor } from '../support/wait-for.ts';
import { prepareTasks, storedIn, type Ground } from './attempts.ts';

/** Tasks of each kind. */
const EACH = 20;
const PATIENCE = { timeoutMs: 300_000 };

/** The whole product, each deployable as a separate process; the attempts are its only work. */
export async function startGround(): Promise<Ground & { stop(): Promise<void> }> {
  const stack = await startStack({
    parts: 'apart',
    config: {
      worker: { resolutionPollMinSeconds: 86_400, resolutionPollMaxSeconds: 86_400, reconcileIntervalSeconds: 86_400 },
    },
  });
  const owner = await stack.token('agent');
  const database = await stack.database();
  const taskIds = await prepareTasks(
    {
      database,
      async open() {
        const path = join(stack.files, randomUUID());
        const { body } = await stack.rpc(owner, 'tools/call', {
          name: 'files__write_file',
          arguments: { path, content: 'x' },
        });
        return String(body.result?.['taskId']);
      },
      cancel: async (taskId) => void (await stack.rpc(owner, 'tasks/cancel', { taskId })),
      rest: () => waitFor(async () => !(await openWork(stack)).some((work) => work.startsWith('to do')), PATIENCE),
    },
    EACH,
  );
  const all = ['open', 'ended', 'purged', 'unknown'] as const;
  return {
    mcpUrl: stack.config.urls.mcp,
    taskIds,
    callers: {
      'another person': { token: await stack.token('bob'), kinds: all },
      'the same person through another client': {
        token: await resigned(stack.development, owner, { client_id: 'another' }),
        kinds: all,
      },
      'the same client for another person': {
        token: await resigned(stack.development, owner, { sub: 'another' }),
        kinds: all,
      },
      'the owner, after the task is forgotten': { token: owner, kinds: ['purged', 'unknown'] },
    },
    stored: () => storedIn(database),
    stop: () => stack.stop(),
  };
}
