import { objectOf, type Json, type JsonObject } from '../canonical-json.ts';

/** Whatever of a submission names somebody for whom, or through whom, is asked. */
export interface PartiesSource {
  readonly subject: { readonly id: string; readonly properties?: JsonObject | undefined };
  readonly context: JsonObject;
  readonly client?: JsonObject | undefined;
}

/**
 * Subjects that may not decide a request: the subject, the agent that asked, and everybody in the chains of actors of both.
 * What of it nobody verified can only keep somebody from deciding, and lets nobody in (ARAP-SUB-18). Issuers play no
 * part, and identifiers are compared exactly: `sub` is case-sensitive ASCII (OpenID Connect Core 1.0, section 2).
 * @see ARAP, Approver Eligibility and Delegation
 */
export function partiesOf({ subject, context, client }: PartiesSource): string[] {
  const actor = client?.['actor'];
  const named = [
    subject.id,
    context['agent'],
    ...chainOf(subject.properties?.['act']),
    objectOf(actor)['id'],
    ...chainOf(actor),
  ];
  return [...new Set(named.filter((one): one is string => typeof one === 'string'))];
}

/** Every `sub` and `id` from an actor inwards. @see RFC 8693, section 4.1 */
export function chainOf(actor: Json | undefined): string[] {
  const found: (Json | undefined)[] = [];
  for (let at = objectOf(actor); Object.keys(at).length > 0; at = objectOf(at['act'])) found.push(at['sub'], at['id']);
  return found.filter((one): one is string => typeof one === 'string');
}
