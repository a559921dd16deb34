import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { preloading } from '../support/preload.ts';
import { startStack } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';
import type { FuzzTarget } from './run-fuzz.ts';
import { openSessions } from './sessions.ts';

/** How long the event loop of a process let timers wait, in milliseconds. */
export interface EventLoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** The number of measurements. */
  readonly looks: number;
}

export interface GatewayProcess extends FuzzTarget {
  /** Of the gateway's process, since the last question. */
  delay(): Promise<EventLoopDelay>;
  stop(): Promise<void>;
}

/** Tasks that requests can name. */
const TASKS = 8;

/**
 * The whole product, each deployable as a separate process; the gateway reports how long its event loop let timers
 * wait.
 */
export async function startGatewayProcess(): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-fuzz-'));
  const delays = join(folder, 'delays');
  const lines = () => (existsSync(delays) ? readFileSync(delays, 'utf8').trim().split('\n') : []);
  const stack = await startStack({
    parts: 'apart',
    config: { gateway: { waitSeconds: 0 } },
    environments: { gateway: { ...preloading('event-loop-delay.mjs'), COUNTERSIGN_TEST_DELAYS: delays } },
  });
  const token = await stack.token('agent');
  const good = [`Bearer ${token}`, `bearer ${await stack.token('bob')}`];
  const write = (name: string) => ({
    name: 'files__write_file',
    arguments: { path: join(stack.files, name), content: 'x' },
  });
  const taskIds: string[] = [];
  for (let index = 0; index < TASKS; index += 1) {
    const { body } = await stack.rpc(token, 'tools/call', write(`task-${index}`));
    taskIds.push(String(body.result?.['taskId']));
  }
  return {
    mcpUrl: stack.config.urls.mcp,
    known: {
      calls: [
        { name: 'files__list_allowed_directories', arguments: {} },
        { name: 'files__read_text_file', arguments: { path: join(stack.files, 'none') } },
        write('another'),
        {
          name: 'files__move_file',
          arguments: { source: join(stack.files, 'a'), destination: join(stack.files, 'b') },
        },
        { name: 'files__none', arguments: {} },
      ],
      taskIds,
      good,
      sessions: await openSessions(stack.config.urls.mcp, good),
      bad: [
        '',
        'Bearer',
        'Bearer canary',
        `Basic ${token}`,
        `Bearer ${token.slice(0, -8)}AAAAAAAA`,
        `Bearer ${await stack.token('agent', 'approvals')}`,
      ],
    },
    isRunning: () => stack.isRunning('gateway'),
    revive: () => stack.startPart('gateway'),
    async delay() {
      const before = lines().length;
      stack.signal('gateway', 'SIGUSR2');
      await waitFor(() => lines().length > before);
      return JSON.parse(lines().at(-1) ?? '') as EventLoopDelay;
    },
    async stop() {
      await stack.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
