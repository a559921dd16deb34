import type { AcceptedTools } from '../../workflows/domain/tools/signature.ts';

/** Every tool is as it was accepted. */
export const ALL_ACCEPTED: AcceptedTools = { among: async (tools) => tools };
