import type { Signature } from '../../apps/gateway/offers/accepted-descriptions.ts';
import type { UpstreamTool } from '../../workflows/domain/upstream-ports.ts';
import type { Accepted, Pin } from '../../workflows/domain/tools/pins.ts';

/** Everything is as it was accepted. */
export const ALL_ACCEPTED: Accepted = { among: async (things) => things };

/** A signature with these tools and other things, in which everything else would be, too. */
export const aSignature = (tools: () => Promise<readonly UpstreamTool[]>, items: readonly Pin[] = []): Signature => ({
  ...ALL_ACCEPTED,
  contents: async () => ({ tools: await tools(), items }),
  onChange: () => () => undefined,
});
