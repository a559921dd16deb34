import { beforeAll, describe, expect, it } from '@jest/globals';
import type { WorkflowBundle } from '@temporalio/worker';
import pino from 'pino';
import { bundleWorkflows } from '../../apps/shared/temporal/bundle.ts';
import { installRuntime } from '../../apps/shared/temporal/worker.ts';
import { ACCESS_REQUEST_PATHS } from './access-request-paths.ts';
import { ACCESS_REQUEST_HISTORIES, recordedHistories, replay } from './histories.ts';

const recorded = recordedHistories(ACCESS_REQUEST_HISTORIES);

describe('recorded histories of access requests', () => {
  let bundle: WorkflowBundle;
  beforeAll(async () => {
    installRuntime(pino({ enabled: false }));
    bundle = await bundleWorkflows();
  });

  it('are there for every way through the workflow, and the present one goes on from each', async () => {
    const names = Object.keys(ACCESS_REQUEST_PATHS).map((name) => `${name}.json`);
    expect(await replay(recorded, bundle)).toEqual(Object.fromEntries(names.map((name) => [name, undefined])));
  });

  it('are found out when the present workflow would not have made them', async () => {
    const waited = recorded.filter(({ text }) => text.includes('TIMER_STARTED'));
    expect(waited.length).toBeGreaterThan(3);
    const said = await replay(
      waited.map((one) => ({
        ...one,
        history: {
          events: one.history.events
            .filter((event) => !('timerStartedEventAttributes' in event))
            .map((event, index) => ({ ...event, eventId: String(index + 1) })),
        },
      })),
      bundle,
    );
    for (const { name } of waited) expect([name, said[name]]).toEqual([name, expect.any(String)]);
  });
});
