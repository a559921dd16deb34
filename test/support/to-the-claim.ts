import type { ActivityPorts, GatedCallRef, Granted } from '../../workflows/activity-ports.ts';

type Answer<Step extends keyof ActivityPorts> = Awaited<ReturnType<ActivityPorts[Step]>>;

/** As the workflow does until it has to wait: reads the resolution; once that is granted, decides and claims. */
export async function toTheClaim(
  steps: Pick<ActivityPorts, 'readResolution' | 'decideAndClaim'>,
  call: GatedCallRef,
): Promise<Exclude<Answer<'readResolution'>, Granted> | Answer<'decideAndClaim'>> {
  const resolution = await steps.readResolution(call);
  return resolution.kind === 'granted' ? steps.decideAndClaim(call) : resolution;
}
