import { addressOf } from '../../shared/http/list-cursor.ts';
import type { RequestFilter } from '../listing.ts';
import type { ListedRequest, RequestKind } from '../stores/lists.ts';
import { differencesIn } from './alike.ts';
import type { Voter } from './authenticate.ts';
import { type OddOne, Row } from './row.tsx';
import type { SummaryTemplateOf } from './summary.tsx';

/** From this many requests of one kind on, a page of a list has one row for them. */
const ONE_ROW_FROM = 4;

interface RowsProps {
  readonly rows: readonly ListedRequest[];
  readonly kinds: readonly RequestKind[];
  readonly filter: RequestFilter;
  readonly visitor: Voter;
  readonly summaries: SummaryTemplateOf;
  /** Query parameters of the page. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  /** Whether a request can be decided together with others. Undefined where nothing can be selected. */
  readonly canSelect: ((request: ListedRequest) => boolean) | undefined;
}

/** Requests as rows. Many of one kind have one row, which counts them and names those that stand out. */
export function Rows({ rows, kinds, filter, visitor, summaries, parameters, canSelect }: RowsProps) {
  const counts = new Map<string, number>();
  for (const { alike, count } of kinds) counts.set(alike, (counts.get(alike) ?? 0) + count);
  const hrefOf = (alike: string) => addressOf('/requests', { status: parameters['status'], limit: 200, alike });
  return (
    <ul class="rows">
      {gathered(rows, filter).map(({ request, others, odd, isFirst }) => {
        const count = Math.max((counts.get(request.alike) ?? 1) - 1, others);
        return (
          <Row
            key={request.id}
            request={request}
            template={summaries(request.tool)}
            visitor={visitor}
            select={others === 0 && canSelect ? (canSelect(request) ? 'can' : 'cannot') : undefined}
            alike={
              isFirst && count > 0 && kinds.length > 0 ? { others: count, href: hrefOf(request.alike), odd } : undefined
            }
          />
        );
      })}
    </ul>
  );
}

interface Gathered {
  readonly request: ListedRequest;
  /** How many requests of this page are in its row beside it. */
  readonly others: number;
  readonly odd: readonly OddOne[];
  /** Whether it is the first of its kind on the page. */
  readonly isFirst: boolean;
}

/** Whether a list has one row for many requests of one kind. A search finds requests one by one. */
export const isGathered = ({ words, alike }: RequestFilter): boolean => words === undefined && alike === undefined;

/** How many of these requests fill this many rows. */
export function filling(rows: readonly ListedRequest[], most: number): number {
  const byKind = kindsOf(rows);
  let filled = 0;
  const end = rows.findIndex((request) => {
    const kind = byKind.get(request.alike) ?? [];
    if (kind.length < ONE_ROW_FROM || kind[0] === request) filled += 1;
    return filled > most;
  });
  return end === -1 ? rows.length : end;
}

function kindsOf(rows: readonly ListedRequest[]): ReadonlyMap<string, readonly ListedRequest[]> {
  const byKind = new Map<string, ListedRequest[]>();
  for (const request of rows) byKind.set(request.alike, [...(byKind.get(request.alike) ?? []), request]);
  return byKind;
}

/** One entry for each row. A search finds requests one by one, and so does the list of one kind. */
function gathered(rows: readonly ListedRequest[], filter: RequestFilter): Gathered[] {
  const byKind = kindsOf(rows);
  return rows.flatMap((request): Gathered[] => {
    const kind = byKind.get(request.alike) ?? [];
    const isFirst = kind[0] === request;
    if (!isGathered(filter) || kind.length < ONE_ROW_FROM) return [{ request, others: 0, odd: [], isFirst }];
    if (!isFirst) return [];
    const { outliers } = differencesIn(kind);
    const usual = kind.find(({ id }) => !outliers.has(id)) ?? request;
    const odd = kind.flatMap(({ id, outline }) => {
      const [path, why] = [...(outliers.get(id) ?? [])][0] ?? [];
      return path === undefined || why === undefined
        ? []
        : [{ id, why, leaf: outline?.leaves.find((one) => one.path === path), path }];
    });
    return [{ request: usual, others: kind.length - 1, odd, isFirst }];
  });
}
