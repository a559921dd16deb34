import * as z from 'zod';
import { EFFECTS, SENSITIVITIES } from '../../../workflows/domain/tools/tool-facts.ts';
import { MappingError } from '../coaz/json-of.ts';
import { compileMapping } from '../coaz/mapping.ts';

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
const operatorMapping = z.record(z.string(), z.json()).superRefine((content, context) => {
  try {
    compileMapping(content);
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
});

const requirement = z.string().min(1).max(256);

/** How one requirement is looked at: each has exactly one way. */
const requirementSetting = z.union([
  z.strictObject({ met: z.boolean().describe('States whether the requirement is met.') }),
  z.strictObject({
    claim: z
      .string()
      .min(1)
      .describe("Claim of the caller's token. The requirement is met if it is `value`, or a list with `value`."),
    value: z.union([z.string(), z.number(), z.boolean()]).describe('Value that the claim must have.'),
  }),
  z.strictObject({
    flagsFile: z
      .string()
      .min(1)
      .describe(
        'YAML or JSON file that has the text of the requirement with the value `true`. Countersign reads it for each call. A ' +
          'relative path starts at the folder of the configuration file.',
      ),
  }),
  z.strictObject({
    url: z
      .url()
      .describe(
        'Service that Countersign asks by POST `{ requirement, tool, caller }`. It answers `{ "met": true }` or `{ "met": false }`.',
      ),
    headers: z.record(z.string(), z.string()).default({}).describe('Headers of that request.'),
  }),
]);

/** What the operator says of a tool, beside what its upstream says. */
export const toolFactSettings = {
  requirements: z
    .array(requirement)
    .optional()
    .describe(
      'Requirements that a call must meet, beside those that the upstream declares. `requirements` says how to check each.',
    ),
  effect: z
    .enum(EFFECTS)
    .optional()
    .describe(
      'What the tool mainly does. It corrects the annotations of the upstream, and sets the log level of its calls. Without it, ' +
        'the word of the upstream counts.',
    ),
  idempotent: z
    .boolean()
    .optional()
    .describe('States whether the same call has the same result. Without it, the word of the upstream counts.'),
  requiresConfirmation: z
    .boolean()
    .optional()
    .describe('Advises clients to ask a person before the call. It holds no call, because only policies do.'),
  resultSensitivity: z
    .enum(SENSITIVITIES)
    .optional()
    .describe('How sensitive the results are. See `gateway.redactAbove`.'),
  preprocessor: z
    .boolean()
    .optional()
    .describe('Asks clients to run the tool before every prompt. The tool must only read.'),
  mapping: z
    .union([z.literal('default'), operatorMapping])
    .optional()
    .describe(
      'Evaluation requests that a call puts to the PDP, or `default`. See `policies/MAPPINGS.md`. Without it, ' +
        'the mapping of the upstream counts.',
    ),
};

export const requirementSettings = z
  .record(requirement, requirementSetting)
  .default({})
  .describe(
    'How Countersign checks a requirement, by its exact text. Each has one way. A requirement that is not listed is never met.',
  );
