import * as z from 'zod';
import { OWN_TOOLS } from './identifiers.ts';

const MAX_NAME_LENGTH = 256;

/** Arguments of `request_access`: the call that is wanted. */
export const accessRequestArguments = z.strictObject({
  tool: z.string().min(1).max(MAX_NAME_LENGTH).describe('Name of the tool that needs an approval'),
  arguments: z
    .looseObject({})
    .default({})
    .meta({ description: 'Exactly the arguments with which it is to be called', additionalProperties: true }),
});

/** Arguments of `get_request_status`. */
export const statusArguments = z.strictObject({
  reference: z.string().min(1).max(MAX_NAME_LENGTH).describe('Request reference that was given for the request'),
});

const jsonSchema = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input' });

export const REQUEST_SCHEMA = jsonSchema(accessRequestArguments);

/** Who asks by a plain tool is a model, which pays for each look. */
export const REQUEST_POLL_MS = 60_000;

/** The gateway's own tools, as clients see them. */
export const OWN_TOOL_DEFINITIONS = [
  {
    name: OWN_TOOLS.requestAccess,
    title: 'Request access',
    description:
      'Requests an approval for a call of another tool, for clients without tasks. Use it when a call was refused because it ' +
      'needs an approval. Once approved, the call runs once, with exactly these arguments, without any further step. Answers ' +
      `with a request reference for ${OWN_TOOLS.requestStatus}, which survives restarts, and says until when it can be used.`,
    inputSchema: REQUEST_SCHEMA,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  },
  {
    name: OWN_TOOLS.requestStatus,
    title: 'Get request status',
    description:
      'Tells how a request for an approval stands, and gives the result of its call once that has ended. Call it no more often ' +
      `than every ${REQUEST_POLL_MS / 1_000} seconds.`,
    inputSchema: jsonSchema(statusArguments),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
];
