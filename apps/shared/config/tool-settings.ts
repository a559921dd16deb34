import * as z from 'zod';
import { operatorMapping } from './coaz-settings.ts';
import { EFFECTS, SENSITIVITIES } from '../../../workflows/domain/tools/hints.ts';

const requirement = z.string().min(1).max(256);

/** How one requirement is looked at: each has exactly one way. */
const requirementSetting = z.union([
  /** Said here. */
  z.strictObject({ met: z.boolean() }),
  /** A claim of the caller's token that is this value, or a list that has it. */
  z.strictObject({ claim: z.string().min(1), value: z.union([z.string(), z.number(), z.boolean()]) }),
  /** A file, in YAML or JSON, with `requirement: true`. Relative to the configuration file; read anew for each call. */
  z.strictObject({ flagsFile: z.string().min(1) }),
  /** A service that is asked by POST, and answers `{ "met": true | false }`. */
  z.strictObject({ url: z.url(), headers: z.record(z.string(), z.string()).default({}) }),
]);

/** What the operator says of a tool, beside what its upstream says. */
export const toolFactSettings = {
  /** What has to be the case for a call, beside what the upstream demands. The texts mean nothing but themselves. */
  requirements: z.array(requirement).optional(),
  /** What it mainly does. Corrects the annotations that go with it, and says how loud the log is about its calls. */
  effect: z.enum(EFFECTS).optional(),
  /** Whether the same call has the same result. */
  idempotent: z.boolean().optional(),
  /** Advice for clients to ask before they call. It holds no call: policies do. */
  requiresConfirmation: z.boolean().optional(),
  /** How much it matters who sees its results. See `gateway.redactAbove`. */
  resultSensitivity: z.enum(SENSITIVITIES).optional(),
  /** Whether clients are to run it before every prompt. It has to be a tool that only reads. */
  preprocessor: z.boolean().optional(),
  /** The questions that a call puts to the policy decision point, whatever the upstream declares; or `default`. */
  mapping: z.union([z.literal('default'), operatorMapping]).optional(),
};

/** For a requirement, by its exact text: how it is looked at. One that is not here is never met. */
export const requirementSettings = z.record(requirement, requirementSetting).default({});
