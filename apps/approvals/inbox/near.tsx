import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { addressOf } from '../../shared/http/list-cursor.ts';
import type { AroundRequest } from '../stores/lists.ts';
import type { FromList } from './list-query.ts';
import { Summary, summaryOf, type SummaryTemplateOf } from './summary.tsx';

/** The query of the list from which requests of this page are opened. Their addresses keep it. */
export const From = createContext<string | undefined>(undefined);

/** Makes the address of a request, or of a part of it, that leads back to the list from which the visitor came. */
export function useRequestAddress(): (id: string, part?: string) => string {
  const from = useContext(From);
  return (id, part) => requestAddress(id, { from, part });
}

/** The address of a request, or of a part of it. */
export const requestAddress = (
  id: string,
  { from, part }: { readonly from: string | undefined; readonly part?: string | undefined },
): string => addressOf(`/requests/${encodeURIComponent(id)}${part === undefined ? '' : `/${part}`}`, { from });

/** The list from which a visitor came, and what is around a request in it. */
export interface Near {
  /** Undefined if they came from elsewhere, such as from a message. Then `around` is from what is theirs to decide. */
  readonly list: FromList | undefined;
  /** Undefined if the request never had a place in the list. */
  readonly around: AroundRequest | undefined;
}

/** The ways from a request: back to the page of the list, and to the requests around it. A decision that can be undone travels along. */
export function Ways({ near: { list, around }, hasEnded }: { near: Near; hasEnded: boolean }) {
  const addressOf = useRequestAddress();
  const back = list?.href ?? (hasEnded ? '/requests?status=ended' : '/requests');
  return (
    <nav class="ways" aria-label="Requests of the list">
      <a class="crumb" href={back} data-travels>
        {list === undefined ? '← All requests' : '← Back to the list'}
      </a>
      {around !== undefined && around.count > 0 && (
        <span>
          {around.previous && (
            <a href={addressOf(around.previous.id)} rel="prev" data-travels data-near="previous">
              ‹ Previous
            </a>
          )}{' '}
          <span class="soft">{placeIn(around)}</span>{' '}
          {around.next && (
            <a href={addressOf(around.next.id)} rel="next" data-travels data-near="next">
              Next ›
            </a>
          )}
        </span>
      )}
    </nav>
  );
}

const number = (count: number) => count.toLocaleString('en');

const placeIn = ({ isThere, before, count }: AroundRequest): string =>
  isThere ? `${number(before + 1)} of ${number(count)}` : `${number(count)} left`;

/** The next request of the list, for a visitor who has nothing to decide here any more. */
export function NextRequest({ near: { around }, summaries }: { near: Near; summaries: SummaryTemplateOf }) {
  const addressOf = useRequestAddress();
  if (around?.next === undefined) return null;
  const { next, before, isThere, count } = around;
  return (
    <p class="next-request">
      <a class="button" href={addressOf(next.id)} data-travels>
        Next: <Summary parts={summaryOf(next, summaries(next.tool))} />
      </a>{' '}
      <span class="soft">
        ({number(before + (isThere ? 2 : 1))} of {number(count)})
      </span>
    </p>
  );
}
