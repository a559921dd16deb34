import * as z from 'zod';
import type { ObligationReceiver, StepUp } from '../../workflows/domain/authzen/obligation.ts';
import type { Json, JsonObject } from '../../workflows/domain/canonical-json.ts';

/** No more than this of one answer is carried out. */
const MAX_OBLIGATIONS = 50;
const MAX_BODY_CHARACTERS = 4_000;
const MAX_PROPERTIES_CHARACTERS = 16_000;

/** Somebody may put them into the head of a message: a line break there would add another. */
const NO_CONTROLS = /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u;
/** Line breaks and tabs aside, no control characters. */
const PLAIN_TEXT = /^(?:[^\p{Cc}]|[\n\t])*$/u;

const name = z.string().min(1).max(256).regex(NO_CONTROLS);
const instance = z.looseObject({ id: name, type: name, properties: z.record(z.string(), z.json()) });

const notification = z.looseObject({
  to: name,
  body: z.string().max(MAX_BODY_CHARACTERS).regex(PLAIN_TEXT),
  topic: name.optional(),
});
const stepUp = z.looseObject({ acr_value: name, amr_values: z.array(name).max(20).optional() });
const sessionTermination = z.looseObject({ subject: name });

/** One obligation of an answer, as far as it is understood. */
export type ObligationInstance = {
  /** Empty where it cannot be read. */
  readonly id: string;
  readonly type: string;
} & (
  | { readonly kind: 'not_understood'; readonly cause: string }
  | { readonly kind: 'step_up'; readonly stepUp: StepUp }
  /** `to`: which of the operator's receivers it is for. `properties`: no more of them than the type defines, but for `custom`. */
  | { readonly kind: 'message'; readonly to: ObligationReceiver; readonly properties: JsonObject }
);

/**
 * Reads the obligations of an answer, each for itself: what cannot be read of one takes nothing from the others. Ids that occur
 * twice name nothing (OBL-03), so none of those is understood.
 * @see AuthZEN Obligations Profile, The Obligation Object, Registered Obligation Types
 */
export function readObligations(found: readonly Json[]): readonly ObligationInstance[] {
  const ids = found.map((one) => instance.safeParse(one).data?.id);
  return found.map((one, index) => {
    const { data } = instance.safeParse(one);
    if (data === undefined) return notUnderstood({ id: '', type: '' }, 'it is malformed');
    if (index >= MAX_OBLIGATIONS) return notUnderstood(data, `there are more than ${MAX_OBLIGATIONS}`);
    if (ids.indexOf(data.id) !== ids.lastIndexOf(data.id)) return notUnderstood(data, 'its id occurs twice');
    return understood(data);
  });
}

function understood({ id, type, properties }: z.infer<typeof instance>): ObligationInstance {
  const malformed = notUnderstood({ id, type }, 'its properties are malformed');
  switch (type) {
    case 'step-up': {
      const { data } = stepUp.safeParse(properties);
      if (data === undefined) return malformed;
      return { id, type, kind: 'step_up', stepUp: { acrValue: data.acr_value, amrValues: data.amr_values ?? [] } };
    }
    case 'notification': {
      const { data } = notification.safeParse(properties);
      if (data === undefined) return malformed;
      const { to, body, topic } = data;
      const known = { to, body, ...(topic !== undefined && { topic }) };
      return { id, type, kind: 'message', to: { notification: to }, properties: known };
    }
    case 'session_termination': {
      const { data } = sessionTermination.safeParse(properties);
      if (data === undefined) return malformed;
      return { id, type, kind: 'message', to: 'sessionTermination', properties: { subject: data.subject } };
    }
    case 'custom':
      if (JSON.stringify(properties).length > MAX_PROPERTIES_CHARACTERS) return malformed;
      return { id, type, kind: 'message', to: 'custom', properties };
    default:
      return notUnderstood({ id, type }, 'its type is not known here');
  }
}

const notUnderstood = ({ id, type }: { id: string; type: string }, cause: string): ObligationInstance => ({
  ...{ id, type },
  kind: 'not_understood',
  cause,
});
