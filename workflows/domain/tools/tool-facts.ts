import { canonicalJson, type Json, type JsonObject, objectOf } from '../canonical-json.ts';
import type { Sha256 } from '../gated-call/call-binding.ts';
import { mirroredArguments, type MirroredArguments } from './mirrored-arguments.ts';
import type { PreviewSetting } from './preview.ts';
import { declaredRequirements } from './requirements.ts';
import { HINT_META, MAPPING_KEYWORD } from './wire-names.ts';

/** The main effect of a tool. */
export const EFFECTS = ['read', 'write', 'delete', 'external'] as const;
export type Effect = (typeof EFFECTS)[number];

/** The sensitivity of a result, rising. */
export const SENSITIVITIES = ['public', 'internal', 'confidential', 'restricted'] as const;
export type Sensitivity = (typeof SENSITIVITIES)[number];

/** Hints of the upstream or the operator about a tool. Advice only: they permit nothing. @see advisory policy hints (HINT-002) */
export interface ToolHints {
  readonly effect?: Effect | undefined;
  /** Whether the same call has the same result. Not the annotation `idempotentHint`, which is about further effects. */
  readonly idempotent?: boolean | undefined;
  readonly requiresConfirmation?: boolean | undefined;
  readonly resultSensitivity?: Sensitivity | undefined;
}

/** The upstream's hints. An unknown value counts as no hint. */
function declaredHints(definition: JsonObject): ToolHints {
  const meta = objectOf(definition['_meta']);
  return {
    effect: EFFECTS.find((one) => one === meta[HINT_META.effect]),
    idempotent: booleanOf(meta[HINT_META.idempotent]),
    requiresConfirmation: booleanOf(meta[HINT_META.requiresConfirmation]),
    resultSensitivity: SENSITIVITIES.find((one) => one === meta[HINT_META.resultSensitivity]),
  };
}

const IMPLIED = {
  read: { readOnlyHint: true, destructiveHint: false },
  write: { readOnlyHint: false },
  delete: { readOnlyHint: false, destructiveHint: true },
  external: { readOnlyHint: false, openWorldHint: true },
} as const satisfies Record<Effect, JsonObject>;

const impliedBy = (effect: Effect | undefined): JsonObject => (effect === undefined ? {} : IMPLIED[effect]);

/** The effect that hints or annotations say without a doubt. Undefined if they do not. */
export function statedEffect({ hints, annotations }: Pick<ToolFacts, 'hints' | 'annotations'>): Effect | undefined {
  if (hints.effect !== undefined) return hints.effect;
  const says = (name: string, value: boolean) => annotations[name] === value;
  if (says('readOnlyHint', true)) return 'read';
  if (says('destructiveHint', true)) return 'delete';
  if (says('readOnlyHint', false) && says('destructiveHint', false)) return 'write';
  return undefined;
}

/** Where hints and annotations say different things, in words for the operator (HINT-013). */
export function contradictionsIn(effect: Effect | undefined, annotations: JsonObject): readonly string[] {
  if (effect === undefined) return [];
  const says = (name: string, value: boolean) => annotations[name] === value;
  const found = (isWrong: boolean, annotation: string) =>
    isWrong ? [`its effect is "${effect}", but ${annotation} is ${annotations[annotation] === true}`] : [];
  return [
    ...found(says('readOnlyHint', effect !== 'read'), 'readOnlyHint'),
    ...found(effect === 'read' && says('destructiveHint', true), 'destructiveHint'),
    ...found(effect === 'delete' && says('destructiveHint', false), 'destructiveHint'),
    ...found(effect === 'external' && says('openWorldHint', false), 'openWorldHint'),
  ];
}

export const isAbove = (sensitivity: Sensitivity, ceiling: Sensitivity): boolean =>
  SENSITIVITIES.indexOf(sensitivity) > SENSITIVITIES.indexOf(ceiling);

const booleanOf = (value: Json | undefined): boolean | undefined => (typeof value === 'boolean' ? value : undefined);

export interface ToolSettings extends ToolHints {
  /** Beside those that the upstream declares. */
  readonly requirements?: readonly string[] | undefined;
  /** Whether clients are to run it before every prompt. */
  readonly preprocessor?: boolean | undefined;
  /** The mapping from a call to evaluation requests, in place of the upstream's: this one, or the default. */
  readonly mapping?: JsonObject | 'default' | undefined;
  /** How approvers of its calls get a preview. */
  readonly preview?: PreviewSetting | undefined;
}

/** A mapping and its author. It was not checked yet. @see COAZ, declared mappings */
export interface ToolMapping {
  readonly by: 'operator' | 'upstream';
  readonly content: Json;
}

/** How much an allowed call matters to a reader of the log. */
type AuditLevel = 'debug' | 'info' | 'warn';

/** The facts of a tool, from its upstream and from the operator. All code that needs a fact of a tool takes it from here. */
export interface ToolFacts {
  /** Requirements of every call; each once. */
  readonly requirements: readonly string[];
  /** The operator's, else the upstream's. Nothing is permitted because of them. */
  readonly hints: ToolHints;
  /** As they are published: consistent with the effect. */
  readonly annotations: JsonObject;
  readonly auditLevel: AuditLevel;
  /** Whether clients run it before every prompt. Its calls never wait for an approval. */
  readonly preprocessor: boolean;
  /** Arguments that clients over HTTP repeat in headers. */
  readonly headers: MirroredArguments;
  /** The operator's mapping, else the upstream's. Missing where the default applies. */
  readonly mapping?: ToolMapping;
}

/** Throws a `RangeError` when the definition has no canonical form. */
export function toolFacts(definition: JsonObject, settings: ToolSettings = {}): ToolFacts {
  const { requirements = [], preprocessor, mapping, ...own } = settings;
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
    // The upstream's, completed by those that follow from its own effect, and corrected by those that follow from the operator's.
    annotations: { ...impliedBy(declared.effect), ...objectOf(definition['annotations']), ...impliedBy(own.effect) },
    auditLevel: auditLevelOf(declared.effect, own.effect),
    preprocessor: preprocessor ?? definition['preprocessor'] === true,
    headers: mirroredArguments(definition['inputSchema']),
    ...mappingOf(definition, mapping),
  };
}

/** The presence of the member counts: a mapping that cannot be used does not give way to the default (COAZ-DC-06). */
function mappingOf(definition: JsonObject, own: ToolSettings['mapping']): { readonly mapping?: ToolMapping } {
  if (own === 'default') return {};
  if (own !== undefined) return { mapping: { by: 'operator', content: own } };
  const inputSchema = objectOf(definition['inputSchema']);
  if (!Object.hasOwn(inputSchema, MAPPING_KEYWORD)) return {};
  return { mapping: { by: 'upstream', content: inputSchema[MAPPING_KEYWORD] ?? null } };
}

/** Names one mapping of one author; `undefined` for the default. Throws a `RangeError` for one without a canonical form. */
export const mappingDigest = (mapping: ToolMapping | undefined, sha256: Sha256): string | undefined =>
  mapping && `sha-256:${sha256(canonicalJson([mapping.by, mapping.content]))}`;

/**
 * Why a tool is not offered; undefined when it is. A preprocessor runs without a choice of its user, so it must certainly change
 * nothing (PRE-010). No client over HTTP could call a tool whose headers are declared wrongly.
 */
export function refusalOf({ preprocessor, hints, annotations, headers }: ToolFacts): string | undefined {
  if (headers.fault !== undefined) return headers.fault;
  const onlyReads = annotations['readOnlyHint'] === true && annotations['destructiveHint'] !== true;
  if (!preprocessor || (onlyReads && statedEffect({ hints, annotations }) === 'read')) return undefined;
  return (
    'it is a preprocessor that does not only read, as far as its server says (readOnlyHint); if it does, set `effect: read` ' +
    'for it in `tools`'
  );
}

const LEVELS = { read: 'debug', write: 'info', external: 'info', delete: 'warn' } as const satisfies Record<
  Effect,
  AuditLevel
>;

/** An upstream can raise the log level of its tool's calls, and only the operator can lower it. */
function auditLevelOf(declared: Effect | undefined, own: Effect | undefined): AuditLevel {
  if (own !== undefined) return LEVELS[own];
  return declared === 'delete' ? LEVELS.delete : 'info';
}
