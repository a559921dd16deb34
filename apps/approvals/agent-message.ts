import * as z from 'zod';
import { isAgentMessage } from '../../workflows/domain/access-request/agent-message.ts';

/** An approver's words for the agent. An empty field is none. */
export const agentMessage = z
  .string()
  .transform((text) => text.trim())
  .refine((text) => text === '' || isAgentMessage(text))
  .transform((text) => text || undefined);

export const AGENT_MESSAGE_RULE =
  'A message for the agent is one paragraph of at most 500 characters, without invisible characters.';
