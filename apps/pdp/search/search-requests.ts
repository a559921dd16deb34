import * as z from 'zod';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { sha256 } from '../../shared/sha256.ts';
import { action, BadRequest, checkShape, entity, members, text } from '../requests.ts';

/** What is searched for; also the member of the request that is to be filled in. */
export const SEARCH_KINDS = ['subject', 'resource', 'action'] as const;
export type SearchKind = (typeof SEARCH_KINDS)[number];

/** A search request, checked. */
export interface SearchRequest {
  readonly kind: SearchKind;
  /** AuthZEN type of the entities that are searched for; absent for actions. */
  readonly type: string | undefined;
  /** The evaluation that a result stands for: the request with this id, or this action, filled in. */
  evaluationOf(candidate: string): EvaluationRequest;
  readonly page: { readonly token?: string; readonly limit?: number } | undefined;
  /** Digest of all that has to stay the same from page to page, but for the limit. */
  readonly digest: string;
}

const page = z
  .looseObject({
    token: text.nullish(),
    limit: z.number().int().nonnegative().nullish(),
    properties: members.nullish(),
  })
  .nullish();
// The id of what is searched for is disregarded, whatever it is (AZ-SR-04).
const searched = z.looseObject({ type: text, properties: members.nullish() });
const context = members.nullish();
interface Paged {
  readonly page?:
    { readonly token?: string | null | undefined; readonly limit?: number | null | undefined } | null | undefined;
}
const schemas: Readonly<Record<SearchKind, z.ZodType<Paged>>> = {
  subject: z.looseObject({ subject: searched, action, resource: entity, context, page }),
  resource: z.looseObject({ subject: entity, action, resource: searched, context, page }),
  action: z.looseObject({ subject: entity, resource: entity, context, page }),
};

/** Checks a search request. Throws `BadRequest`. */
export function readSearch(kind: SearchKind, body: unknown): SearchRequest {
  const checked = checkShape(body, schemas[kind]);
  const given = body as JsonObject & Omit<EvaluationRequest, 'action'> & Partial<EvaluationRequest>;
  const { token, limit } = checked.page ?? {};
  return {
    kind,
    type: kind === 'action' ? undefined : given[kind].type,
    evaluationOf: (candidate) => fillIn(kind, given, candidate),
    page: checked.page
      ? { ...(typeof token === 'string' && { token }), ...(typeof limit === 'number' && { limit }) }
      : undefined,
    digest: digestOf(kind, given),
  };
}

/** `context.approval` is left out: what a search finds needs no approval, and what a caller says of one is worth nothing (PRJ-27). */
function fillIn(
  kind: SearchKind,
  given: Omit<EvaluationRequest, 'action'> & Partial<EvaluationRequest>,
  candidate: string,
): EvaluationRequest {
  const { approval: _approval, ...context } = given.context ?? {};
  const { subject, resource, action = { name: candidate } } = given;
  switch (kind) {
    case 'subject':
      return { subject: { ...subject, id: candidate }, action, resource, context };
    case 'resource':
      return { subject, action, resource: { ...resource, id: candidate }, context };
    case 'action':
      return { subject, action: { name: candidate }, resource, context };
  }
}

function digestOf(kind: SearchKind, body: JsonObject): string {
  const { token: _token, limit: _limit, ...otherOfPage } = (body['page'] ?? {}) as JsonObject;
  try {
    return sha256(canonicalJson([kind, { ...body, page: otherOfPage }]));
  } catch (error) {
    if (error instanceof RangeError) throw new BadRequest('the body is not I-JSON: it has half a character in a text');
    throw error;
  }
}
