import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

/** The minimum cost of a call that waits for a decision on Temporal: one signal, then one activity. */
export async function floorWorkflow(id: string): Promise<void> {
  const { arrive } = proxyActivities<{ arrive(id: string): Promise<void> }>({ startToCloseTimeout: '1 minute' });
  let released = false;
  setHandler(defineSignal('release'), () => {
    released = true;
  });
  await condition(() => released);
  await arrive(id);
}
