import type { Signature } from '../../apps/gateway/signature/signature.ts';
import type { AcceptedTools } from '../../workflows/domain/tools/signature.ts';

/** Every tool is as it was accepted. */
export const ALL_ACCEPTED: AcceptedTools = { among: async (tools) => tools };

/** A signature with these tools, in which every other one would be, too. */
export const aSignature = (tools: Signature['tools']): Signature => ({
  ...ALL_ACCEPTED,
  tools,
  onChange: () => () => undefined,
});
