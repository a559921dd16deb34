import type { CallToolResult } from '@modelcontextprotocol/server';
import {
  AUTHORIZATION_META,
  APPROVAL_EXTENSION,
  APPROVAL_EXTENSION_ALIAS,
  APPROVAL_EXTENSION_ALIAS_VERSION,
  APPS_EXTENSION,
  DENIAL_EXTENSION,
  DISPOSITION_META,
  DISPOSITION_META_ALIAS,
  TASKS_EXTENSION,
} from './identifiers.ts';
import { dispositionOf, type GatedCallState } from '../../../workflows/domain/gated-call/gated-call.ts';
import type { Config } from '../../shared/config/config.ts';

/** The operator's settings for the form of answers. */
export interface Rendering extends Pick<
  Config['gateway'],
  'pollIntervalMs' | 'structuredDenials' | 'approvalAlias' | 'requestTools' | 'heldCallPage'
> {
  readonly coaz: Pick<Config['gateway']['coaz'], 'denials'>;
  /** The public address of the gateway. */
  readonly gatewayUrl: string;
}

/**
 * The remediation in the envelope of each denial on authorization grounds. A call that ran in full or in part, or was refused for another
 * reason, has no envelope. @see SEP-2643, Where it attaches
 */
const REMEDIATION = {
  /** The call waits as a task. */
  held: 'available',
  /** The call can become a task once the client gives the requested input. */
  asked: 'available',
  /** The call waits, and a person can decide on a page that the client can open. */
  page: 'available',
  /** Nothing can change the denial. */
  final: 'unavailable',
  /** Too many requests: `unavailable` would say that waiting does not help, `available` would invite a retry (APPR-197). */
  limit: 'undisclosed',
  /** An approval can be requested, but not by repeating the call as it is. The answer's text says how (DENIAL-027). */
  requestable: 'undisclosed',
  /** Policy requires a stronger sign-in. Its decision after that is not known. */
  stepUp: 'undisclosed',
} as const;

/** The `_meta` of a denial: the envelope, or nothing if the operator switched envelopes off. */
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
      // Only the remediation `available` may have hints (DENIAL-012), and a call that is asked for input needs none.
      ...(denial === 'held' && { remediationHints: [{ type: 'task' }] }),
      ...(denial === 'page' && { remediationHints: [{ type: 'url' }] }),
    },
  };
}

/** `capabilities.extensions`. The settings of the tasks extension stay empty, because clients read anything else as another extension. */
export const declaredExtensions = ({ structuredDenials, approvalAlias }: Rendering) => ({
  [TASKS_EXTENSION]: {},
  [APPROVAL_EXTENSION]: {},
  [APPS_EXTENSION]: {},
  ...(approvalAlias && { [APPROVAL_EXTENSION_ALIAS]: { version: APPROVAL_EXTENSION_ALIAS_VERSION } }),
  ...(structuredDenials && { [DENIAL_EXTENSION]: {} }),
});

/** The disposition in `_meta`, under both names of the approval extension, whichever name the client declared. */
export function dispositionMeta(state: GatedCallState, { approvalAlias }: Rendering): Record<string, unknown> {
  const disposition = dispositionOf(state);
  return { [DISPOSITION_META]: disposition, ...(approvalAlias && { [DISPOSITION_META_ALIAS]: disposition }) };
}

export const textResult = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

export const toolError = (text: string, meta: Record<string, unknown> = {}): CallToolResult => ({
  isError: true,
  ...textResult(text),
  ...(Object.keys(meta).length > 0 && { _meta: meta }),
});
