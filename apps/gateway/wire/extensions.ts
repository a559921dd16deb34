import { dispositionOf } from '../../../workflows/domain/gated-call/disposition.ts';
import type { GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import {
  APPROVAL_EXTENSION,
  APPROVAL_EXTENSION_ALIAS,
  APPROVAL_EXTENSION_ALIAS_VERSION,
  DENIAL_EXTENSION,
  DISPOSITION_META,
  DISPOSITION_META_ALIAS,
  TASKS_EXTENSION,
} from './identifiers.ts';
import type { Rendering } from './rendering.ts';

/**
 * What is declared in `capabilities.extensions`. The settings of the tasks extension stay empty: clients read anything else
 * as another extension.
 */
export const declaredExtensions = ({ structuredDenials, approvalAlias }: Rendering) => ({
  [TASKS_EXTENSION]: {},
  [APPROVAL_EXTENSION]: {},
  ...(approvalAlias && { [APPROVAL_EXTENSION_ALIAS]: { version: APPROVAL_EXTENSION_ALIAS_VERSION } }),
  ...(structuredDenials && { [DENIAL_EXTENSION]: {} }),
});

/** The `_meta` that says what became of the execution, under both names of the approval extension, whichever the client declared. */
export function dispositionMeta(state: GatedCallState, { approvalAlias }: Rendering): Record<string, unknown> {
  const disposition = dispositionOf(state);
  return { [DISPOSITION_META]: disposition, ...(approvalAlias && { [DISPOSITION_META_ALIAS]: disposition }) };
}
