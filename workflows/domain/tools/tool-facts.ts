import type { JsonObject } from '../canonical-json.ts';
import { annotationsOf, declaredHints, hasNoEffect, type Effect, type ToolHints } from './hints.ts';
import { mirroredArguments, type MirroredArguments } from './mirrored-arguments.ts';
import { declaredRequirements } from './requirements.ts';

/** What the operator says of one tool. */
export interface ToolSettings extends ToolHints {
  /** Beside those that the upstream declares. */
  readonly requirements?: readonly string[] | undefined;
  /** Whether clients are to run it before every prompt. */
  readonly preprocessor?: boolean | undefined;
}

/** How much an allowed call matters to whoever reads the log. */
export type AuditLevel = 'debug' | 'info' | 'warn';

/** What is known of a tool: what its upstream says, and what the operator says. Everything that asks about a tool asks here. */
export interface ToolFacts {
  /** What has to be the case for a call to be carried out, from whomever it comes; each once. */
  readonly requirements: readonly string[];
  /** The operator's, else the upstream's. Nothing is permitted because of them. */
  readonly hints: ToolHints;
  /** As they are published: in keeping with the effect. */
  readonly annotations: JsonObject;
  readonly auditLevel: AuditLevel;
  /** Whether clients run it before every prompt. Its calls never wait for anybody. */
  readonly preprocessor: boolean;
  /** Arguments that clients over HTTP repeat in headers. */
  readonly headers: MirroredArguments;
}

/** Throws a `RangeError` when the definition has no canonical form. */
export function toolFacts(definition: JsonObject, settings: ToolSettings = {}): ToolFacts {
  const { requirements = [], preprocessor, ...own } = settings;
  const declared = declaredHints(definition);
  return {
    // A union: neither side can take away what the other demands.
    requirements: [...new Set([...declaredRequirements(definition), ...requirements])],
    hints: {
      effect: own.effect ?? declared.effect,
      idempotent: own.idempotent ?? declared.idempotent,
      requiresConfirmation: own.requiresConfirmation ?? declared.requiresConfirmation,
      resultSensitivity: own.resultSensitivity ?? declared.resultSensitivity,
    },
    annotations: annotationsOf(definition, { declared, own }),
    auditLevel: auditLevelOf(declared.effect, own.effect),
    preprocessor: preprocessor ?? definition['preprocessor'] === true,
    headers: mirroredArguments(definition['inputSchema']),
  };
}

/**
 * Why a tool is not offered; undefined when it is. A preprocessor runs without anybody choosing it, so it has to be certain
 * that nothing comes of that (PRE-010). Of clients that speak HTTP none could call a tool whose headers are declared wrongly.
 */
export function refusalOf({ preprocessor, hints, annotations, headers }: ToolFacts): string | undefined {
  if (headers.fault !== undefined) return headers.fault;
  if (!preprocessor || hasNoEffect(hints.effect, annotations)) return undefined;
  return 'it is a preprocessor, and not one that only reads: its effect has to be "read", and readOnlyHint true';
}

const LEVELS = { read: 'debug', write: 'info', external: 'info', delete: 'warn' } as const satisfies Record<
  Effect,
  AuditLevel
>;

/** An upstream can have the calls of its tool stand out in the log, but not have them vanish from it: only the operator can. */
function auditLevelOf(declared: Effect | undefined, own: Effect | undefined): AuditLevel {
  if (own !== undefined) return LEVELS[own];
  return declared === 'delete' ? LEVELS.delete : 'info';
}
