import type { Verdict } from '../../../workflows/domain/access-request/access-request.ts';
import type { Leaf } from '../../../workflows/domain/access-request/outline.ts';
import { MAX_AGENT_MESSAGE_LENGTH } from '../../../workflows/domain/access-request/agent-message.ts';
import { addressOf } from '../../shared/http/list-cursor.ts';
import { Page } from '../../shared/pages/layout.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import type { FromList } from './list-query.ts';
import { Keys } from './live.tsx';
import { requestsIn } from './paging.tsx';
import type { InboxPerson } from './person.ts';
import { LONGEST_TEXT } from './refused.tsx';
import type { Reading } from './seat.ts';
import { AskedBy, EffectBadge, Summary, summaryOf, type SummaryTemplateOf } from './summary.tsx';
import { wordsOf } from './view.tsx';

/** One request of a batch: it can be decided here, or the reason why it has to be opened. */
export interface BatchItem {
  readonly id: string;
  /** Undefined for a request that the visitor cannot read. */
  readonly reading: Reading | undefined;
  readonly leftOut: string | undefined;
}

/** What became of one vote. */
export interface BatchResult {
  readonly id: string;
  readonly isCounted: boolean;
  readonly words: string;
}

interface BatchPageProps {
  readonly items: readonly BatchItem[];
  readonly person: InboxPerson;
  readonly summaries: SummaryTemplateOf;
  /** The list from which the visitor came. */
  readonly list: FromList | undefined;
  /** Ids of selected requests that are decided after these. */
  readonly later: readonly string[];
}

type Decidable = BatchItem & { readonly reading: Reading };
const isDecidable = (item: BatchItem): item is Decidable => item.reading !== undefined && item.leftOut === undefined;

const YOURS = '/requests?status=yours';

const BackToList = ({ list }: Pick<BatchPageProps, 'list'>) => (
  <a class="crumb" href={list?.href ?? YOURS} data-travels>
    ← Back to the list
  </a>
);

function laterAddress(ids: readonly string[], list: FromList | undefined): string {
  const query = new URLSearchParams(ids.map((id) => ['id', id]));
  if (list !== undefined) query.set('from', list.from);
  return `/requests/batch?${query.toString()}`;
}

/** All that the selected requests do, and one decision for those that can be decided together. */
export function BatchPage({ items, person, summaries, list, later }: BatchPageProps) {
  const decidable = items.filter(isDecidable);
  const others = items.filter((item) => !isDecidable(item));
  return (
    <Page title="Decide together" section="Approvals" person={person}>
      <BackToList list={list} />
      <h1>Decide {requestsIn(decidable.length)}</h1>
      {later.length > 0 && (
        <p class="soft">
          At most {items.length} are decided at once. After these come the {requestsIn(later.length)} that you also
          selected.
        </p>
      )}
      <div class="stack">
        {decidable.length > 0 && (
          <section class="card" aria-labelledby="together">
            <h2 id="together">What will run</h2>
            <div class="wide batch" tabIndex={0} role="region" aria-label="The selected calls">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Call</th>
                    <th scope="col">All arguments</th>
                  </tr>
                </thead>
                <tbody>
                  {decidable.map((item) => (
                    <ItemRow key={item.id} item={item} />
                  ))}
                </tbody>
              </table>
            </div>
          </section>
        )}
        {others.length > 0 && <LeftOut items={others} summaries={summaries} />}
        {decidable.length > 0 && <BatchForm items={decidable} csrfToken={person.csrfToken} {...{ list, later }} />}
      </div>
      <Keys person={person} />
    </Page>
  );
}

function ItemRow({ item: { id, reading } }: { item: Decidable }) {
  const { tool, effect, outline, requester } = reading.request;
  return (
    <tr>
      <th scope="row">
        <a href={`/requests/${id}`}>
          <Visible text={tool} />
        </a>{' '}
        <EffectBadge effect={effect} />
        <div class="soft">
          <AskedBy requester={requester} />
        </div>
      </th>
      <td>
        <ul class="leaves">
          {(outline?.leaves ?? []).map((leaf) => (
            <WholeLeaf key={leaf.path} leaf={leaf} />
          ))}
        </ul>
      </td>
    </tr>
  );
}

/** Never shortened: the decision rests on it. */
const WholeLeaf = ({ leaf: { path, json } }: { leaf: Leaf }) => (
  <li>
    {path !== '' && (
      <span class="name">
        <Visible text={path} />
      </span>
    )}{' '}
    <span class="value">
      <Visible text={json} notation="json" />
    </span>
  </li>
);

function LeftOut({ items, summaries }: Pick<BatchPageProps, 'items' | 'summaries'>) {
  return (
    <section class="card" aria-labelledby="left-out">
      <h2 id="left-out">Not decided here</h2>
      <ul class="votes">
        {items.map(({ id, reading, leftOut }) => (
          <li key={id}>
            <Named id={id} reading={reading} summaries={summaries} />
            <p>{leftOut}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface NamedProps extends Pick<BatchPageProps, 'summaries'> {
  readonly id: string;
  readonly reading: Reading | undefined;
}

/** The request with a link to it, or its id if the visitor cannot read it. */
function Named({ id, reading, summaries }: NamedProps) {
  if (reading === undefined) return <Visible text={id} />;
  return (
    <a href={`/requests/${id}`}>
      <Summary parts={summaryOf(reading.request, summaries(reading.request.tool))} />
    </a>
  );
}

interface BatchFormProps extends Pick<BatchPageProps, 'list' | 'later'> {
  readonly items: readonly Decidable[];
  readonly csrfToken: string;
}

function BatchForm({ items, csrfToken, list, later }: BatchFormProps) {
  const many = items.length === 1 ? '1' : `all ${items.length}`;
  const [first] = items;
  return (
    <section class="card" aria-labelledby="decide">
      <h2 id="decide">Your decision</h2>
      <form
        class="decision"
        method="post"
        action={addressOf('/requests/batch', { from: list?.from, later: later.join(',') || undefined })}
        data-decides
        data-careful
        data-shows={list?.href ?? YOURS}
      >
        <input type="hidden" name="csrfToken" value={csrfToken} />
        {items.map((item) => (
          <WhatWasSeen key={item.id} item={item} />
        ))}
        <div>
          <label for="reason">Reason</label>
          <textarea id="reason" name="reason" maxLength={LONGEST_TEXT} aria-describedby="reason-hint" />
          <p class="hint" id="reason-hint">
            Optional. Kept on record with your name and with each request; the agent does not see it.
          </p>
        </div>
        <div class="decision-buttons">
          <button class="approve" type="submit" name="verdict" value="approve" data-undo={`You approve ${many}`}>
            Approve {many}
          </button>
          <button class="deny" type="submit" name="verdict" value="deny" data-undo={`You deny ${many}`}>
            Deny {many}
          </button>
        </div>
        <p class="hint" data-again role="status" hidden>
          Press the key again to approve {many}.
        </p>
        <p class="hint">
          Each request gets your vote for itself.
          {first !== undefined && ` If you approve, ${wordsOf(first.reading.request).onceGranted}`}
        </p>
        <details>
          <summary>Message for the agent</summary>
          <label for="agent-message">What the agent reads</label>
          <textarea id="agent-message" name="agentMessage" maxLength={MAX_AGENT_MESSAGE_LENGTH} />
        </details>
      </form>
    </section>
  );
}

/** The call and the stage that the visitor looks at. */
const WhatWasSeen = ({ item: { id, reading } }: { item: Decidable }) => {
  const { generation, stage, callDigest } = reading.request;
  return <input type="hidden" name="item" value={`${id} ${generation} ${stage} ${callDigest}`} />;
};

interface ResultsPageProps extends Omit<BatchPageProps, 'items'> {
  readonly results: readonly BatchResult[];
  readonly readings: readonly BatchItem[];
  readonly verdict: Verdict;
}

/** One line for each request: what was decided, or why not. */
export function ResultsPage({ results, readings, verdict, person, summaries, list, later }: ResultsPageProps) {
  const done = results.filter(({ isCounted }) => isCounted).length;
  const isAll = done === results.length;
  const word = verdict === 'approve' ? 'approved' : 'denied';
  return (
    <Page title="Decided together" section="Approvals" person={person}>
      <BackToList list={list} />
      <h1>
        You {word} {isAll ? requestsIn(done) : `${done} of ${requestsIn(results.length)}`}
      </h1>
      <div class={`notice ${isAll ? 'good' : 'warn'}`} role="status">
        <ul class="votes">
          {results.map(({ id, words }) => (
            <li key={id}>
              <Named id={id} reading={readings.find((one) => one.id === id)?.reading} summaries={summaries} />
              <p>{words}</p>
            </li>
          ))}
        </ul>
      </div>
      {later.length > 0 && (
        <p>
          <a class="button" href={laterAddress(later, list)}>
            Decide the {requestsIn(later.length)} that you also selected
          </a>
        </p>
      )}
      <Keys person={person} />
    </Page>
  );
}
