import { objectOf, type Json, type JsonObject } from '../canonical-json.ts';
import { HINT_META } from './wire-names.ts';

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
export function declaredHints(definition: JsonObject): ToolHints {
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
export function annotationsOf(definition: JsonObject, said: { declared: ToolHints; own: ToolHints }): JsonObject {
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
export const hasNoEffect = (effect: Effect | undefined, annotations: JsonObject): boolean =>
  effect === 'read' && annotations['readOnlyHint'] === true;

export const isAbove = (sensitivity: Sensitivity, ceiling: Sensitivity): boolean =>
  SENSITIVITIES.indexOf(sensitivity) > SENSITIVITIES.indexOf(ceiling);

const booleanOf = (value: Json | undefined): boolean | undefined => (typeof value === 'boolean' ? value : undefined);
