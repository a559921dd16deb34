import { setImmediate } from 'node:timers/promises';
import * as z from 'zod';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson, type JsonObject } from '../../workflows/domain/canonical-json.ts';
import { createSealedPages, type PagePosition } from '../shared/http/page-token.ts';
import { sha256 } from '../shared/crypto.ts';
import type { Candidates, PolicyVersion } from './engine/policy-engine.ts';
import { action, BadRequest, checkShape, entity, members, text } from './http/requests.ts';

/** What a search looks for, which is also the member of the request that it fills in. */
export const SEARCH_KINDS = ['subject', 'resource', 'action'] as const;
export type SearchKind = (typeof SEARCH_KINDS)[number];

/** Body of a search response. `page` comes first, since it has to be written first (AZ-SR-17). */
export interface SearchBody {
  readonly page?: { readonly next_token: string; readonly count: number };
  readonly results: readonly ({ readonly type: string; readonly id: string } | { readonly name: string })[];
}

const page = z
  .looseObject({
    token: text.nullish(),
    limit: z.number().int().nonnegative().nullish(),
    properties: members.nullish(),
  })
  .nullish();
// A search ignores any id of what it searches for (AZ-SR-04).
const searched = z.looseObject({ type: text, properties: members.nullish() });
const common = { context: members.nullish(), page };
const schemas = {
  subject: z.looseObject({ subject: searched, action, resource: entity, ...common }),
  resource: z.looseObject({ subject: entity, action, resource: searched, ...common }),
  action: z.looseObject({ subject: entity, resource: entity, ...common }),
};

type Given = Omit<EvaluationRequest, 'action'> & Partial<EvaluationRequest>;

type SearchRequest = ReturnType<typeof readSearch>;

/** Checks a search request. Throws `BadRequest`. */
export function readSearch(kind: SearchKind, body: unknown) {
  const checked = checkShape<{ page?: z.infer<typeof page> }>(body, schemas[kind]);
  const given = body as JsonObject & Given;
  return {
    kind,
    /** AuthZEN type of the entities to find. Undefined for actions. */
    type: kind === 'action' ? undefined : given[kind].type,
    /** The evaluation request that a result stands for: this one with the id, or the action, filled in. */
    evaluationOf: (candidate: string) => fillIn(kind, given, candidate),
    page: checked.page ? { token: checked.page.token ?? undefined, limit: checked.page.limit ?? undefined } : undefined,
    /** Digest of everything that has to stay the same from page to page. The limit is checked apart. */
    digest: digestOf(kind, given),
  };
}

/** Leaves out `context.approval`: results need no approval, and what a caller says about one is worth nothing (PRJ-27). */
function fillIn(kind: SearchKind, given: Given, candidate: string): EvaluationRequest {
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

/** What one page may cost. A page that reaches it ends early, and the next continues there. */
const MAX_EVALUATIONS = 1_000;
/** Evaluations block the process. After so many, other requests get their turn. */
const EVALUATIONS_AT_A_TIME = 32;

/**
 * Answers one page of a search by evaluating every candidate, so each result would be permitted. Does not find entities that the
 * PDP does not know, even if a policy permits all. Throws `BadRequest` for the token of another search, and if the engine cannot
 * be searched.
 * @see AuthZEN Authorization API 1.0, Search APIs
 *
 * @param of.secret Seals page tokens: the private part of the PDP's signing key.
 * @param of.charge Counts this many evaluations for the requester, or throws.
 */
export function createSearch(of: {
  readonly secret: string;
  readonly charge: (requester: string, evaluations: number) => Promise<void>;
}) {
  const pages = createSealedPages(of.secret, 'countersign pdp search page');
  return async ({ searchable }: PolicyVersion, request: SearchRequest, requester: string): Promise<SearchBody> => {
    if (searchable === undefined) throw new BadRequest('the policy engine behind this endpoint cannot be searched');
    const scope = { requester, digest: request.digest };
    const { after, limit } = await positionOf(request, (token) => pages.open(token, scope));
    const ids = candidatesFor(request, searchable.candidates);
    const from = after === undefined ? 0 : firstBehind(ids, after);
    const looked = ids.slice(from, from + MAX_EVALUATIONS);
    // The request itself pays for one evaluation.
    await of.charge(requester, looked.length - 1);
    const found: string[] = [];
    let next = 0;
    for (; next < looked.length && found.length < (limit ?? Infinity); next += 1) {
      if (next % EVALUATIONS_AT_A_TIME === EVALUATIONS_AT_A_TIME - 1) await setImmediate();
      const candidate = looked[next];
      if (candidate !== undefined && searchable.permits(request.evaluationOf(candidate))) found.push(candidate);
    }
    const results = found.map((id) => (request.type === undefined ? { name: id } : { type: request.type, id }));
    const isLast = from + next >= ids.length;
    if (isLast && !request.page) return { results };
    const position = { after: next === 0 ? after : looked[next - 1], limit };
    const next_token = isLast ? '' : await pages.seal(position, scope);
    return { page: { next_token, count: found.length }, results };
  };
}

/** Where the page begins, and how many results it may have. A follow-up request may leave the limit out, but not change it. */
async function positionOf(
  { page }: SearchRequest,
  open: (token: string) => Promise<PagePosition | undefined>,
): Promise<PagePosition> {
  if (page?.token === undefined) return { after: undefined, limit: page?.limit };
  const position = await open(page.token);
  if (position === undefined)
    throw new BadRequest(
      'page.token does not belong to this search: repeat the first request unchanged, or begin again',
    );
  if (page.limit !== undefined && page.limit !== position.limit)
    throw new BadRequest('page.limit is not that of the first request: repeat it unchanged');
  return position;
}

function candidatesFor({ kind, type }: SearchRequest, known: Candidates): readonly string[] {
  if (type === undefined) return known.actions;
  return kind === 'subject' ? known.subjects(type) : known.resources(type);
}

/** The candidate after which the page begins may be gone by now. */
function firstBehind(sorted: readonly string[], id: string): number {
  const index = sorted.findIndex((each) => each > id);
  return index === -1 ? sorted.length : index;
}
