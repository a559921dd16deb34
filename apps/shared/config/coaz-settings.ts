import * as z from 'zod';
import { compileMapping } from '../coaz/mapping.ts';
import { MappingError } from '../coaz/mapping-error.ts';

/** @see COAZ, MCP binding */
export const coazSettings = z
  .strictObject({
    identityClaim: z
      .string()
      .min(1)
      .default('sub')
      .describe(
        'Claim of the access token that is the subject of evaluation requests. It names the person for whom the caller acts. ' +
          'Agree on it with the issuer.',
      ),
    serverId: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Id of this server in policies. Without it, the address of the MCP endpoint, which is the audience of its tokens.',
      ),
    callDetails: z
      .boolean()
      .default(true)
      .describe(
        'Adds the arguments, the annotations and a digest of the call to evaluation requests. Approvals are then bound to that ' +
          'digest. The own PDP needs it.',
      ),
    everyMethod: z
      .boolean()
      .default(false)
      .describe(
        'Asks the PDP about every method, lists and tasks included. The gateway denies unknown methods, and answers nothing ' +
          'without a decision.',
      ),
    initialize: z
      .enum(['map', 'pass'])
      .default('map')
      .describe('With `everyMethod`: `map` asks the PDP about `initialize`, and `pass` lets it pass.'),
    denials: z
      .enum(['result', 'error'])
      .default('result')
      .describe(
        'How a client reads a denial: as a tool result in words, or as the JSON-RPC error -32001 for every request.',
      ),
  })
  .prefault({})
  .describe('How MCP messages become evaluation requests to the policy decision point.');

/** A mapping as an operator writes it. What is wrong with it stops the start. */
export const operatorMapping = z.record(z.string(), z.json()).superRefine((content, context) => {
  try {
    compileMapping(content);
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
});
