import { canonicalJson, type Json, type JsonObject, objectOf } from '../canonical-json.ts';
import type { Sha256 } from '../gated-call/call-binding.ts';
import { mirroredArguments, type MirroredArguments } from './mirrored-arguments.ts';
import { declaredRequirements } from './requirements.ts';
import { HINT_META, MAPPING_KEYWORD } from './wire-names.ts';

/** What a tool mainly does to the world. */
export const EFFECTS = ['read', 'write', 'delete', 'external'] as const;
export type Effect = (typeof EFFECTS)[number];

/** How much it matters who sees a result, rising. */
export const SENSITIVITIES = ['public', 'internal', 'confidential', 'restricted'] as const;
export type Sensitivity = (typeof SENSITIVITIES)[number];

/** What the upstream or the operator says of a tool. Advice only: it permits nothing. @see advisory policy hints (HINT-002) */
export interface ToolHints {
  readonly effect?: Effect | undefined;
  /** Whether the same call has the same result. Not the annotation `idempotentHint`, which is about further effects. */
  readonly idempotent?: boolean | undefined;
  readonly requiresConfirmation?: boolean | undefined;
  readonly resultSensitivity?: Sensitivity | undefined;
}

/** What the upstream says. A value that is none of those that there are says nothing. */
function declaredHints(definition: JsonObject): ToolHints {
  const meta = objectOf(definition['_meta']);
  return {
    effect: EFFECTS.find((one) => one === meta[HINT_META.effect]),
    idempotent: booleanOf(meta[HINT_META.idempotent]),
    requiresConfirmation: booleanOf(meta[HINT_META.requiresConfirmation]),
    resultSensitivity: SENSITIVITIES.find((one) => one === meta[HINT_META.resultSensitivity]),
  };
}

/** The annotations that follow from an effect. */
const IMPLIED = {
  read: { readOnlyHint: true, destructiveHint: false },
  write: { readOnlyHint: false },
  delete: { readOnlyHint: false, destructiveHint: true },
  external: { readOnlyHint: false, openWorldHint: true },
} as const satisfies Record<Effect, JsonObject>;

const impliedBy = (effect: Effect | undefined): JsonObject => (effect === undefined ? {} : IMPLIED[effect]);

/**
 * The annotations of a tool: the upstream's, completed by what follows from its own effect, and corrected by what follows
 * from the effect that the operator states.
 */
function annotationsOf(definition: JsonObject, said: { declared: ToolHints; own: ToolHints }): JsonObject {
  const { declared, own } = said;
  return { ...impliedBy(declared.effect), ...objectOf(definition['annotations']), ...impliedBy(own.effect) };
}

/** Where hints and annotations say different things, in words for the operator (HINT-013). */
export function contradictionsIn(effect: Effect | undefined, annotations: JsonObject): readonly string[] {
  if (effect === undefined) return [];
  const says = (name: string, value: boolean) => annotations[name] === value;
  const found = (isWrong: boolean, annotation: string) =>
    isWrong ? [`its effect is "${effect}", but ${annotation} is ${annotations[annotation] === true}`] : [];
  return [
    ...found(says('readOnlyHint', effect !== 'read'), 'readOnlyHint'),
    ...found(effect === 'delete' && says('destructiveHint', false), 'destructiveHint'),
    ...found(effect === 'external' && says('openWorldHint', false), 'openWorldHint'),
  ];
}

/** Whether a tool says of itself, and is not contradicted, that a call changes nothing. */
const hasNoEffect = (effect: Effect | undefined, annotations: JsonObject): boolean =>
  effect === 'read' && annotations['readOnlyHint'] === true;

export const isAbove = (sensitivity: Sensitivity, ceiling: Sensitivity): boolean =>
  SENSITIVITIES.indexOf(sensitivity) > SENSITIVITIES.indexOf(ceiling);

const booleanOf = (value: Json | undefined): boolean | undefined => (typeof value === 'boolean' ? value : undefined);

/** What the operator says of one tool. */
export interface ToolSettings extends ToolHints {
  /** Beside those that the upstream declares. */
  readonly requirements?: readonly string[] | undefined;
  /** Whether clients are to run it before every prompt. */
  readonly preprocessor?: boolean | undefined;
  /** Which questions a call of it puts to the policy decision point: these, or those of the default mapping, in place of what the upstream declares. */
  readonly mapping?: JsonObject | 'default' | undefined;
}

/** A mapping and whose word it is. Nothing of it was looked at yet. @see COAZ, declared mappings */
export interface ToolMapping {
  readonly by: 'operator' | 'upstream';
  readonly content: Json;
}

/** How much an allowed call matters to a reader of the log. */
type AuditLevel = 'debug' | 'info' | 'warn';

/** What is known of a tool: what its upstream says, and what the operator says. Everything that asks about a tool asks here. */
export interface ToolFacts {
  /** What has to be the case for any call to be carried out; each once. */
  readonly requirements: readonly string[];
  /** The operator's, else the upstream's. Nothing is permitted because of them. */
  readonly hints: ToolHints;
  /** As they are published: in keeping with the effect. */
  readonly annotations: JsonObject;
  readonly auditLevel: AuditLevel;
  /** Whether clients run it before every prompt. Its calls never wait for an approval. */
  readonly preprocessor: boolean;
  /** Arguments that clients over HTTP repeat in headers. */
  readonly headers: MirroredArguments;
  /** What takes the place of the default mapping: the operator's, else the upstream's. Missing where the default applies. */
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
    annotations: annotationsOf(definition, { declared, own }),
    auditLevel: auditLevelOf(declared.effect, own.effect),
    preprocessor: preprocessor ?? definition['preprocessor'] === true,
    headers: mirroredArguments(definition['inputSchema']),
    ...mappingOf(definition, mapping),
  };
}

/** That the member is there is all that counts: a mapping that cannot be used does not give way to the default (COAZ-DC-06). */
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
 * Why a tool is not offered; undefined when it is. A preprocessor runs without a choice of its user, so it has to be certain
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
