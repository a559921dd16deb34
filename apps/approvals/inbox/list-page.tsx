import { addressOf } from '../../shared/http/list-cursor.ts';
import { Page } from '../../shared/pages/layout.tsx';
import type { ListChoice, RequestFilter, RequestOrder } from '../listing.ts';
import type { Page as PageOf } from '../../shared/database/pages.ts';
import type { BrokenGlass } from '../stores/break-glass.store.ts';
import type { ListedRequest, RequestKind, RequestPage } from '../stores/lists.ts';
import type { AskedRequests } from '../stores/requester-questions.ts';
import type { Voter } from './authenticate.ts';
import { AlikeTable } from './alike-table.tsx';
import { ByAgent } from './by-agent.tsx';
import { Unreviewed } from './emergency.tsx';
import { Filters, isFiltered } from './filters.tsx';
import { From } from './near.tsx';
import { fromOf } from './list-query.ts';
import { InboxTabs, PageLinks, requestsIn } from './paging.tsx';
import { Keys, Live } from './live.tsx';
import { MAX_BATCH } from './max-batch.ts';
import type { InboxPerson } from './person.ts';
import { QuestionsToYou } from './questions-part.tsx';
import { Rows } from './rows.tsx';
import type { SummaryTemplateOf } from './summary.tsx';

export interface RequestListProps {
  readonly page: RequestPage;
  /** Requests of the visitor whose approvers wait for an answer. */
  readonly questions: AskedRequests;
  /** Emergency grants without a review. */
  readonly unreviewed: PageOf<BrokenGlass> & { readonly count: number };
  /** Empty for ended requests. */
  readonly kinds: readonly RequestKind[];
  readonly status: ListChoice;
  readonly order: RequestOrder;
  readonly filter: RequestFilter;
  /** Query parameters of this page. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly person: InboxPerson;
  readonly visitor: Voter;
  readonly summaries: SummaryTemplateOf;
  /** Whether the visitor can decide a request together with others. */
  readonly canTogether: (request: ListedRequest) => boolean;
}

const TITLES = { yours: 'Yours to decide', pending: 'Open requests', ended: 'Ended requests' } as const;

const ORDER = { oldest: 'Oldest first', newest: 'Newest first', soonest: 'Ends soonest' } as const satisfies Record<
  RequestOrder,
  string
>;

const EMPTY = {
  yours: ['Nothing is waiting for you', 'When an agent makes a call that you can decide, it appears here.'],
  pending: ['Nothing is waiting', 'When a call needs approval and you can see it, it appears here.'],
  ended: ['Nothing has ended yet', 'Requests that were approved, denied or cancelled, or that expired, appear here.'],
  filtered: ['No request matches', 'Search for less, or show all requests of this list again.'],
} as const;

/** The inbox: requests that wait for a decision, or that have ended. */
export function RequestList(props: RequestListProps) {
  const { page, questions, unreviewed, status, person, visitor, filter, parameters } = props;
  const which = status === 'pending' || status === 'yours' ? status : 'ended';
  const count = which === 'ended' || !page.count ? '' : `(${page.count.toLocaleString('en')}) `;
  // A person who turns its pages reads it.
  const isFolded = (cursor: string) => page.rows.length > 0 && parameters[cursor] === undefined;
  return (
    <Page title={`${count}${TITLES[which]}`} section="Approvals" person={person}>
      <div class="title-row list-title">
        <h1>Requests</h1>
        <InboxTabs current={which} visitor={visitor} />
      </div>
      {(page.rows.length > 0 || isFiltered(filter)) && <Filters {...props} />}
      <From.Provider value={fromOf(parameters)}>
        <Live>
          <QuestionsToYou asked={questions} parameters={parameters} isFolded={isFolded('questionsCursor')} />
          <Unreviewed unreviewed={unreviewed} parameters={parameters} isFolded={isFolded('unreviewedCursor')} />
          {page.rows.length === 0 ? (
            <Empty which={isFiltered(filter) ? 'filtered' : which} />
          ) : (
            <>
              <div class="list-head">
                <Extent {...props} />
                {!isFiltered(filter) && parameters['cursor'] === undefined && <ByAgent {...props} />}
              </div>
              {filter.alike === undefined ? (
                <Rows {...props} rows={page.rows} canSelect={canSelect(props) ? props.canTogether : undefined} />
              ) : (
                <AlikeTable
                  rows={page.rows}
                  select={canSelect(props) ? parameters : undefined}
                  canTogether={props.canTogether}
                />
              )}
              <PageLinks page={page} of="requests" path="/requests" parameters={parameters} name="cursor" />
            </>
          )}
          {canSelect(props) && <BatchBar from={fromOf(parameters)} />}
        </Live>
      </From.Provider>
      <Keys person={person} />
    </Page>
  );
}

/** Several requests are decided together by people only. */
const canSelect = ({ page, status, visitor }: RequestListProps): boolean =>
  page.rows.length > 0 && (status === 'pending' || status === 'yours') && visitor.via !== 'agent';

function BatchBar({ from }: { from: string }) {
  return (
    <form class="batch-bar" id="batch" method="get" action="/requests/batch" data-batch={String(MAX_BATCH)}>
      <input type="hidden" name="from" value={from} />
      <span class="soft" data-count />
      <button type="submit">Decide together</button>
    </form>
  );
}

function Extent({ page: { count }, status, order, filter, parameters }: RequestListProps) {
  const isOpen = status === 'pending' || status === 'yours';
  const what = isFiltered(filter) ? 'found' : status === 'yours' ? 'for you to decide' : 'open';
  const orders = isOpen ? (['oldest', 'newest', 'soonest'] as const) : (['oldest', 'newest'] as const);
  return (
    <p class="soft extent">
      {count !== undefined && `${requestsIn(count)} ${what}. `}
      {ORDER[order]}
      {orders
        .filter((one) => one !== order)
        .map((one) => (
          <>
            {' · '}
            <a key={one} href={addressOf('/requests', { ...parameters, cursor: undefined, order: one })}>
              {ORDER[one]}
            </a>
          </>
        ))}
    </p>
  );
}

function Empty({ which }: { which: keyof typeof EMPTY }) {
  return (
    <div class="card empty">
      <h2>{EMPTY[which][0]}</h2>
      <p>{EMPTY[which][1]}</p>
    </div>
  );
}
