import type { CallToolResult } from '@modelcontextprotocol/server';
import {
  AUTHORIZATION_META,
  APPROVAL_EXTENSION,
  APPROVAL_EXTENSION_ALIAS,
  APPROVAL_EXTENSION_ALIAS_VERSION,
  DENIAL_EXTENSION,
  DISPOSITION_META,
  DISPOSITION_META_ALIAS,
  TASKS_EXTENSION,
} from './identifiers.ts';
import { dispositionOf, type GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';

/** What the operator chose of the form of answers. */
export interface Rendering {
  /** What a client is told to wait between two looks at a task. */
  readonly pollIntervalMs: number;
  /** Whether denials carry an authorization envelope. */
  readonly structuredDenials: boolean;
  /** Whether the approval extension goes by its first name as well. */
  readonly approvalAlias: boolean;
  /** Whether there are plain tools to ask for an approval and to look after it. */
  readonly requestTools: boolean;
  readonly coaz: {
    /** Whether a denial of a tool call is a result of the tool, or the error that COAZ has for denials of any request. */
    readonly denials: 'result' | 'error';
  };
}

/**
 * Every denial on authorization grounds, and what its envelope says of a way out. What is refused for another reason, or ran
 * in full or in part, carries none. @see SEP-2643, Where it attaches
 */
const REMEDIATION = {
  /** The call waits as a task. */
  held: 'available',
  /** The call can become a task when what the answer asks for is given. */
  asked: 'available',
  /** Nothing can change it any more. */
  final: 'unavailable',
  /** There are too many requests: `unavailable` would deny that time helps, and `available` invite to try again (APPR-197). */
  limit: 'undisclosed',
  /** An approval could be requested, in no way that this client declared. The text of the answer says how (DENIAL-027). */
  requestable: 'undisclosed',
  /** Policy wants the caller to sign in otherwise first; what it decides then is not known. */
  stepUp: 'undisclosed',
} as const;

/** The `_meta` of a denial: the envelope, or nothing where the operator switched envelopes off. */
export function authorizationMeta(
  denial: keyof typeof REMEDIATION,
  { structuredDenials }: Pick<Rendering, 'structuredDenials'>,
): Record<string, unknown> {
  if (!structuredDenials) return {};
  const remediation = REMEDIATION[denial];
  return {
    [AUTHORIZATION_META]: {
      reason: 'insufficient_authorization',
      remediation,
      // With any other remediation there must be none (DENIAL-012), and what is asked for needs none.
      ...(denial === 'held' && { remediationHints: [{ type: 'task' }] }),
    },
  };
}

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

/** An error of a tool, in words. */
export function toolError(text: string, meta: Record<string, unknown> = {}): CallToolResult {
  return {
    isError: true,
    content: [{ type: 'text', text }],
    ...(Object.keys(meta).length > 0 && { _meta: meta }),
  };
}
