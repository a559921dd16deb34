import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

/** The least that a call waiting for a decision can cost on Temporal: one signal, then one activity. */
export async function floorWorkflow(id: string): Promise<void> {
  const { arrive } = proxyActivities<{ arrive(id: string): Promise<void> }>({ startToCloseTimeout: '1 minute' });
  let released = false;
  setHandler(defineSignal('release'), () => {
    released = true;
  });
  await condition(() => released);
  await arrive(id);
}
