import type { JsonObject } from '../canonical-json.ts';
import type { Unmet, WithObligations } from './obligation.ts';

/** AuthZEN information model: who, does what, on what. @see AuthZEN Authorization API 1.0, section 5 */
export interface Subject {
  readonly type: string;
  readonly id: string;
  readonly properties?: JsonObject;
}
export interface Action {
  readonly name: string;
  readonly properties?: JsonObject;
}
export interface Resource {
  readonly type: string;
  readonly id: string;
  readonly properties?: JsonObject;
}

/** Body of an access evaluation request. @see AuthZEN Authorization API 1.0, section 6 */
export interface EvaluationRequest {
  readonly subject: Subject;
  readonly action: Action;
  readonly resource: Resource;
  readonly context: JsonObject;
}

/** What a requestable denial says about the access request that may cure it. @see ARAP, requestable denial */
export interface AccessRequestOffer {
  /** Submission URL: that of the denial, else the configured one, else that of the PDP's metadata (ARAP-DEN-05). */
  readonly endpoint: string;
  readonly template?: string;
  /** Instant (RFC 3339) after which a submission is refused. */
  readonly expiresAt: string;
  readonly bindingToken?: string;
  /** Where it says what a submission has to be given beside the call. */
  readonly requestSchemaUrl?: string;
  /** Where it says from which catalogs values of that are chosen. Never without the schema. */
  readonly requestCatalogsUrl?: string;
}

/**
 * A granted resolution. The object that the access request service handed out goes to the PDP as it came, whatever is in it;
 * beside it stands what is of use here. @see ARAP, approval object (ARAP-CMP-09, ARAP-REV-02)
 */
export interface Approval {
  readonly id: string;
  /** Instant (RFC 3339); not every service says it. */
  readonly approvedAt?: string;
  readonly approvedUntil: string;
  /** The whole approval object, unknown members too. */
  readonly presented: JsonObject;
}

/** What a decision rests on, as the PDP states it. Not every PDP does. */
export interface PolicyBasis {
  /** Version of the policies: of ours, a digest. */
  readonly policyVersion?: string;
  /** Ids of the policies that determined the decision. */
  readonly policies?: readonly string[];
}

/** What the PDP answered, with its obligations carried out. Only the PDP decides; anything not understood is a plain denial. */
export type Decision = WithObligations & { readonly basis?: PolicyBasis } & (
    | {
        readonly kind: 'allow';
        readonly evaluationId?: string;
        /** Instant (RFC 3339) after which nothing may be claimed for it, where the PDP names one. @see ARAP (ARAP-REV-12) */
        readonly approvedUntil?: string;
      }
    | {
        readonly kind: 'deny';
        readonly evaluationId?: string;
        readonly reason?: string;
        /** Of a permit whose obligations were not met, and of a denial that demands a stronger sign-in. */
        readonly unmet?: Unmet;
      }
    | {
        readonly kind: 'requestable';
        readonly evaluationId?: string;
        readonly evaluatedAt?: string;
        readonly reason?: string;
        readonly offer: AccessRequestOffer;
      }
    | {
        readonly kind: 'retry';
        readonly evaluationId?: string;
        readonly reason?: string;
        readonly retryAfterMs?: number;
      }
  );
