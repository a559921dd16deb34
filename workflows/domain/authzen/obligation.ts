import { type JsonObject, ownProperty } from '../canonical-json.ts';

/** Claims of a caller's token that say how it signed in. @see OpenID Connect Core 1.0, section 2 */
export const SIGN_IN_CLAIMS = ['acr', 'amr'] as const;

/** The registered types, and the one whose meaning is agreed between two. @see AuthZEN Obligations Profile, Registered Obligation Types */
export const OBLIGATION_TYPES = ['notification', 'step-up', 'session_termination', 'custom'] as const;
export type ObligationType = (typeof OBLIGATION_TYPES)[number];

/** A demand of an answer on the enforcement point. @see AuthZEN Obligations Profile, The Obligation Object */
export interface Obligation {
  readonly id: string;
  readonly type: ObligationType;
  readonly properties: JsonObject;
}

/** Member of a request's context with which an enforcement point says which types it can comply with. */
export const SUPPORTED_MEMBER = 'supported_obligations';

/** A sign-in that an obligation demands of the caller. @see AuthZEN Obligations Profile, step-up */
export interface StepUp {
  readonly acrValue: string;
  /** Every one of them has to have been used. */
  readonly amrValues: readonly string[];
}

/** The outcome of one obligation of an answer. Kept beside the decision, for auditors. */
export interface ObligationOutcome {
  /** As the PDP named it. Of one that cannot be read, empty. */
  readonly id: string;
  readonly type: string;
  /** `queued`: of a denial, and sent until its receiver takes it. `repeated`: of a denial that came before, and not sent again. */
  readonly outcome: 'carried_out' | 'queued' | 'repeated' | 'unmet';
}

/** A receiver of messages, as the configuration names it; notifications have one for each `to`. */
export type ObligationReceiver = { readonly notification: string } | 'custom' | 'sessionTermination';

/** The message that carries an obligation out. The same id names the same obligation, however often it arrives. */
export interface ObligationMessage {
  readonly id: string;
  readonly to: ObligationReceiver;
  readonly body: string;
}

/** The unmet obligations of a permit that counts as a denial, or the demands of a denial. */
export interface Unmet {
  /** The missing sign-ins, where only sign-ins are missing. */
  readonly stepUps?: readonly [StepUp, ...StepUp[]];
}

/**
 * Whether the caller signed in as an obligation demands. A level is reached by itself, and by those that the operator ranks above
 * it (`levels`, the weakest first); values are compared to the letter.
 */
export function isSignedIn(claims: JsonObject, { acrValue, amrValues }: StepUp, levels: readonly string[]): boolean {
  const held = ownProperty(claims, 'acr');
  const methods = ownProperty(claims, 'amr');
  if (typeof held !== 'string' || !reaches(held, acrValue, levels)) return false;
  return amrValues.every((one) => Array.isArray(methods) && methods.includes(one));
}

function reaches(held: string, demanded: string, levels: readonly string[]): boolean {
  const rank = levels.indexOf(demanded);
  return held === demanded || (rank >= 0 && levels.indexOf(held) > rank);
}
