import * as z from 'zod';
import { compileMapping } from '../coaz/mapping.ts';
import { MappingError } from '../coaz/mapping-error.ts';

/** How messages become questions to the policy decision point. @see COAZ, MCP binding */
export const coazSettings = z
  .strictObject({
    /** The claim of tokens that says on whose behalf the caller acts. To be agreed on with the issuer. */
    identityClaim: z.string().min(1).default('sub'),
    /** What policies know this server by. Default: its address, which is the audience of its tokens. */
    serverId: z.string().min(1).optional(),
    /**
     * Whether questions have more in them than the binding asks for: the arguments, the annotations, and a digest of the whole
     * call, to which approvals are bound then. The embedded decision point needs it.
     */
    callDetails: z.boolean().default(true),
    /** Whether every method is asked about, lists and tasks too, and one that nobody knows is denied. Nothing is answered then without a decision. */
    everyMethod: z.boolean().default(false),
    /** With `everyMethod`: whether `initialize` is asked about (`map`), or passes. */
    initialize: z.enum(['map', 'pass']).default('map'),
    /** How a client reads that policy denied: as a result of the tool, in words; or as the JSON-RPC error -32001, for any request. */
    denials: z.enum(['result', 'error']).default('result'),
  })
  .prefault({});

/** A mapping as an operator writes it. What is wrong with it stops the start. */
export const operatorMapping = z.record(z.string(), z.json()).superRefine((content, context) => {
  try {
    compileMapping(content);
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
});
