import type { AcceptedDescriptions } from '../../apps/gateway/offers/accepted-descriptions.ts';
import type { UpstreamTool } from '../../workflows/domain/upstream-ports.ts';
import type { Accepted, AcceptedDescription } from '../../workflows/domain/tools/accepted-descriptions.ts';

/** Everything is as it was accepted. */
export const ALL_ACCEPTED: Accepted = { among: async (things) => things };

/** These tools and other items, with everything else as it was accepted. */
export const acceptedWith = (
  tools: () => Promise<readonly UpstreamTool[]>,
  items: readonly AcceptedDescription[] = [],
): AcceptedDescriptions => ({
  ...ALL_ACCEPTED,
  contents: async () => ({ tools: await tools(), items }),
  onChange: () => () => undefined,
});
