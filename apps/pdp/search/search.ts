import { setImmediate } from 'node:timers/promises';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import type { Candidates } from '../cedar/candidates.ts';
import { BadRequest } from '../requests.ts';
import type { PageTokens } from './page-token.ts';
import type { SearchKind, SearchRequest } from './search-requests.ts';

/** Body of a search response. `page` comes first, as it has to be written first (AZ-SR-17). */
export interface SearchBody {
  readonly page?: { readonly next_token: string; readonly count: number };
  readonly results: readonly ({ readonly type: string; readonly id: string } | { readonly name: string })[];
}

export interface SearchWith {
  readonly candidates: Candidates;
  /** Whether an evaluation would be permitted, without any approval. */
  readonly permits: (request: EvaluationRequest) => boolean;
  readonly tokens: PageTokens;
  /** Counts this many evaluations for the requester, or throws. */
  readonly charge: (requester: string, evaluations: number) => Promise<void>;
}

/** Answers one page of a search. Throws `BadRequest` for a token of another search. */
export type Search = (request: SearchRequest, requester: string) => Promise<SearchBody>;

/** What one page may cost. A page that comes to it ends early, and the next goes on. */
const MAX_EVALUATIONS = 1_000;
/** Others get their turn after so many evaluations: they take the thread for themselves. */
const EVALUATIONS_AT_A_TIME = 32;

/**
 * Search by asking the policies about every candidate: whatever is found would be permitted, and nobody has to reason
 * backwards from policies to who meets them. Entities of which nothing is known are not found, even if a policy permits all.
 * @see AuthZEN Authorization API 1.0, Search APIs
 */
export function createSearch(deps: SearchWith): Search {
  return async (request, requester) => {
    const scope = { requester, digest: request.digest };
    const { after, limit } = await positionOf(request, (token) => deps.tokens.open(token, scope));
    const ids = candidatesOf(request.kind, request.type, deps.candidates);
    const from = after === undefined ? 0 : firstBehind(ids, after);
    const looked = ids.slice(from, from + MAX_EVALUATIONS);
    // One evaluation is paid for by the request itself.
    await deps.charge(requester, looked.length - 1);
    const found: string[] = [];
    let next = 0;
    for (; next < looked.length && found.length < (limit ?? Infinity); next += 1) {
      if (next % EVALUATIONS_AT_A_TIME === EVALUATIONS_AT_A_TIME - 1) await setImmediate();
      const candidate = looked[next];
      if (candidate !== undefined && deps.permits(request.evaluationOf(candidate))) found.push(candidate);
    }
    const results = found.map((id) => (request.type === undefined ? { name: id } : { type: request.type, id }));
    const isLast = from + next >= ids.length;
    if (isLast && !request.page) return { results };
    const position = { after: next === 0 ? after : looked[next - 1], limit };
    const next_token = isLast ? '' : await deps.tokens.seal(position, scope);
    return { page: { next_token, count: found.length }, results };
  };
}

/** Where the page begins, and how many results it may have. A follow-up request may leave the limit out, but not change it. */
async function positionOf(
  { page }: SearchRequest,
  open: (token: string) => Promise<{ after?: string | undefined; limit?: number | undefined }>,
) {
  if (page?.token === undefined) return { after: undefined, limit: page?.limit };
  const position = await open(page.token);
  if (page.limit !== undefined && page.limit !== position.limit)
    throw new BadRequest('page.limit is not that of the first request: repeat it unchanged');
  return position;
}

function candidatesOf(kind: SearchKind, type: string | undefined, known: Candidates): readonly string[] {
  if (type === undefined) return known.actions;
  return kind === 'subject' ? known.subjects(type) : known.resources(type);
}

/** What was looked at last may be gone by now. */
function firstBehind(sorted: readonly string[], id: string): number {
  const index = sorted.findIndex((each) => each > id);
  return index === -1 ? sorted.length : index;
}
