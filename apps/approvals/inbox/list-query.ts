import * as z from 'zod';
import { EFFECTS } from '../../../workflows/domain/tools/tool-facts.ts';
import { addressOf, cursorParameter } from '../../shared/http/list-cursor.ts';
import { LIST_CHOICES, type ListChoice, REQUEST_ORDERS, type RequestFilter, type RequestOrder } from '../listing.ts';

export const DEFAULT_LIMIT = 50;
export const MAX_LIMIT = 200;
const MAX_WORDS = 8;
/** Characters of a list's address that a request keeps. */
const LONGEST_LIST = 4_000;
/** Forms send fields that are empty. Control characters are in no name that a request can have. */
const filterText = z
  .string()
  .max(1_024)
  .regex(/^\P{Cc}*$/u)
  .transform((text) => (text === '' ? undefined : text))
  .optional();

export const listQuery = z.object({
  /** `yours`: pending requests that the visitor may decide. */
  status: z.enum(LIST_CHOICES).default('pending'),
  /** Default: `oldest` for open requests, `newest` for ended ones. Ended requests have no deadline to sort by. */
  order: z.enum(REQUEST_ORDERS).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).optional(),
  cursor: cursorParameter.optional(),
  unreviewedCursor: cursorParameter.optional(),
  questionsCursor: cursorParameter.optional(),
  /** Words that the names or the arguments have, all of them. */
  q: filterText,
  tool: filterText,
  agent: filterText,
  requester: filterText,
  effect: filterText.pipe(z.enum(EFFECTS).optional()),
  alike: filterText,
  /** Which requests of one kind are selected at first. */
  select: z.enum(['all', 'usual']).optional(),
});
export type ListQuery = z.infer<typeof listQuery>;

/** What a list has, in which order. */
export interface Listed {
  readonly choice: ListChoice;
  readonly order: RequestOrder;
  readonly filter: RequestFilter;
}

/** The list that a query asks for. Open requests come oldest first, ended ones newest first, unless the query says otherwise. */
export function listed({ status: choice, order: asked, q, tool, agent, requester, effect, alike }: ListQuery): Listed {
  const isOpen = choice === 'pending' || choice === 'yours';
  const order = asked ?? (isOpen ? 'oldest' : 'newest');
  const words = q?.split(/\s+/).filter((word) => word !== '');
  return {
    choice,
    order: isOpen || order !== 'soonest' ? order : 'newest',
    filter: { words: words?.slice(0, MAX_WORDS), tool, agent, requester, effect, alike },
  };
}

/** The list from which a person came to a request: what it has, and the address of the page that they saw. */
export interface FromList extends Listed {
  /** The query of that page, which addresses of requests keep as `from`. */
  readonly from: string;
  readonly href: string;
}

/** What a page of a list keeps for its requests. Its other lists do not matter to them. */
export const fromOf = (parameters: Readonly<Record<string, string | undefined>>): string => {
  const { unreviewedCursor: _unreviewed, questionsCursor: _questions, select: _select, ...kept } = parameters;
  return addressOf('', kept).slice(1);
};

/** The list that an address of a request names. Undefined for none, or for one that no page of this service has. */
export function fromList(from: unknown): FromList | undefined {
  if (typeof from !== 'string' || from === '' || from.length > LONGEST_LIST) return undefined;
  const given = Object.fromEntries(new URLSearchParams(from));
  const query = listQuery.safeParse(given);
  if (!query.success) return undefined;
  const kept = Object.fromEntries(Object.keys(listQuery.shape).map((name) => [name, given[name]]));
  const named = fromOf({ ...kept, status: query.data.status });
  return { ...listed(query.data), from: named, href: `/requests?${named}` };
}
