import * as z from 'zod';
import { EFFECTS, SENSITIVITIES } from '../../../workflows/domain/tools/tool-facts.ts';
import { MappingError } from '../coaz/json-of.ts';
import { compileMapping } from '../coaz/mapping.ts';
import { isSummaryTemplate } from '../approvers/summary-template.ts';
import { off, on, recordOf, section, text } from './units.ts';

/** @see COAZ, MCP binding */
export const coazSettings = section({
  identityClaim: text
    .default('sub')
    .describe(
      'Claim of the access token that is the subject of evaluation requests. It names the person for whom the caller acts. ' +
        'Agree on it with the issuer.',
    ),
  serverId: text
    .optional()
    .describe('Id of this server in policies. Without it, the audience of its tokens (`gateway.audience`).'),
  callDetails: on.describe(
    'Adds the arguments, the annotations and a digest of the call to evaluation requests. Approvals are then bound to that ' +
      'digest. The own PDP needs it.',
  ),
  everyMethod: off.describe(
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
}).describe('How MCP messages become evaluation requests to the policy decision point.');

/** A mapping that the operator writes. A mapping with an error stops the start. */
const operatorMapping = z.record(z.string(), z.json()).superRefine((content, context) => {
  try {
    compileMapping(content);
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
});

const summaryTemplate = text
  .max(200)
  .refine(isSummaryTemplate, 'write arguments in braces, such as `Write {path}`; other braces are not allowed');

/** @see docs/tool-facts.md, Previews */
const previewSetting = z.union([
  z.strictObject({
    dryRun: z
      .strictObject({
        argument: text.describe('Argument of the tool. Its schema must name it, with this value or as a boolean.'),
        value: z
          .union([z.boolean(), text])
          .default(true)
          .describe('Value with which a call of the tool changes nothing. No value of a caller replaces it.'),
      })
      .describe('States that a call of the tool itself changes nothing if it has this argument.'),
  }),
  z
    .strictObject({
      tool: text.describe(
        'Public name of another tool of the same server, which only reads. State its `effect: read` in `tools`.',
      ),
      copy: recordOf(text, text).describe(
        'Its arguments that take the value of an argument of the call: the name here, then the name in the call.',
      ),
      arguments: recordOf(z.string(), z.json()).describe('Its other arguments, with their values.'),
    })
    .superRefine(({ copy, arguments: own }, context) => {
      const twice = Object.keys(copy).filter((name) => Object.hasOwn(own, name));
      for (const name of twice)
        context.addIssue({
          code: 'custom',
          path: ['copy', name],
          message: 'it is in arguments too: remove one of them',
        });
    }),
]);

const requirement = text.max(256);

/** The check of one requirement. Each requirement has exactly one. */
const requirementSetting = z.union([
  z.strictObject({ met: z.boolean().describe('Whether the requirement is met.') }),
  z.strictObject({
    claim: text.describe(
      "Claim of the caller's token. The requirement is met if it is `value`, or a list with `value`.",
    ),
    value: z.union([z.string(), z.number(), z.boolean()]).describe('Value that the claim must have.'),
  }),
  z.strictObject({
    flagsFile: text.describe(
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
    headers: recordOf(z.string(), z.string()).describe('Headers of that request.'),
  }),
]);

/** Facts about a tool that the operator adds to those of its upstream. */
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
      'Main effect of the tool. It corrects the annotations of the upstream, and sets the log level of its calls. Without it, ' +
        'the value of the upstream counts.',
    ),
  idempotent: z
    .boolean()
    .optional()
    .describe('Whether the same call has the same result. Without it, the value of the upstream counts.'),
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
  summary: summaryTemplate
    .optional()
    .describe(
      'Sentence that lists of the inbox show for a call, such as `Write {path}`. `{target.path}` is the member `path` of the ' +
        'argument `target`. Without it, or for a call without one of these arguments, lists show the name of the tool and its ' +
        'shortest arguments.',
    ),
  preview: previewSetting
    .optional()
    .describe(
      'How Countersign previews a call of the tool for its approvers. It calls the server when the call is put on hold. Without it, ' +
        'approvers get no preview.',
    ),
  mapping: z
    .union([z.literal('default'), operatorMapping])
    .optional()
    .describe(
      'Evaluation requests that a call puts to the PDP, or `default`. See `policies/MAPPINGS.md`. Without it, ' +
        'the mapping of the upstream counts.',
    ),
};

export const requirementSettings = recordOf(requirement, requirementSetting).describe(
  'How Countersign checks a requirement, by its exact text. Each has one check. A requirement that is not listed is never met.',
);
