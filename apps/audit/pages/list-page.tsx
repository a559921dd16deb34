import { TERMINAL_STATES } from '../../../workflows/domain/gated-call/outcome-record.ts';
import { addressOf } from '../../shared/http/list-cursor.ts';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { RecordQuery } from '../filters.ts';
import type { RecordSummary } from '../record-view.ts';
import { Moment, State, stateInWords } from './parts.tsx';

export const LIST = '/outcome-records';

export interface RecordList {
  readonly items: readonly RecordSummary[];
  /** With `before`: the page of newer records. */
  readonly previousCursor?: string;
  /** With `cursor`: the page of older records. */
  readonly nextCursor?: string;
}

/** The records that match, newest first, with the form that filters them. */
export function ListPage({ list, query }: { list: RecordList; query: RecordQuery }) {
  return (
    <>
      <div class="title-row">
        <h1>Outcome records</h1>
        <p class="soft">One for every gated call that ended. Newest first.</p>
      </div>
      <Filters query={query} />
      {list.items.length === 0 ? (
        <div class="card empty">
          <p>No record matches. A record is written at the moment a gated call ends.</p>
        </div>
      ) : (
        <RecordRows items={list.items} />
      )}
      <Pages list={list} query={query} />
    </>
  );
}

function Pages({ list: { previousCursor, nextCursor }, query }: { list: RecordList; query: RecordQuery }) {
  if (previousCursor === undefined && nextCursor === undefined) return null;
  return (
    <nav class="audit-more audit-actions" aria-label="Pages">
      {previousCursor !== undefined && (
        <a class="button" rel="prev" href={addressOf(LIST, { ...query, before: previousCursor })}>
          Newer records
        </a>
      )}
      {nextCursor !== undefined && (
        <a class="button" rel="next" href={addressOf(LIST, { ...query, cursor: nextCursor })}>
          Older records
        </a>
      )}
      {previousCursor !== undefined && <a href={addressOf(LIST, query)}>Newest records</a>}
    </nav>
  );
}

function Filters({ query }: { query: RecordQuery }) {
  return (
    <form class="card audit-filters" method="get" action={LIST}>
      <label>
        Ended as
        <select name="state">
          <option value="">anything</option>
          {TERMINAL_STATES.map((state) => (
            <option key={state} value={state} selected={query.state === state}>
              {stateInWords(state)}
            </option>
          ))}
        </select>
      </label>
      <Field name="tool" label="Tool" query={query} hint="files__write_file" />
      <Field name="requester" label="Requester" query={query} hint="agent" />
      <Field name="callDigest" label="Call digest" query={query} hint="hmac-sha-256:…" />
      <Field name="from" label="From (UTC)" query={query} type="date" />
      <Field name="until" label="Until (UTC)" query={query} type="date" />
      <div class="audit-actions">
        <button type="submit">Show</button>
        <a href={LIST}>Clear</a>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly name: 'tool' | 'requester' | 'callDigest' | 'from' | 'until';
  readonly label: string;
  readonly query: RecordQuery;
  readonly hint?: string;
  readonly type?: 'date';
}

function Field({ name, label, query, hint, type }: FieldProps) {
  const value = query[name] ?? '';
  const shared = { name, value, autocomplete: 'off', ...(hint && { placeholder: hint }) };
  // A date field shows only days; a text field shows an instant from the address.
  const isDay = type === 'date' && value.length <= 10;
  return (
    <label>
      {label}
      {isDay ? <input type="date" {...shared} /> : <input type="text" {...shared} spellcheck={false} />}
    </label>
  );
}

/** Records as rows, each with a link to its page. */
export function RecordRows({ items }: { items: readonly RecordSummary[] }) {
  return (
    <ul class="rows">
      {items.map((item) => (
        <li key={item.outcomeRef}>
          <a class="row-title" href={`${LIST}/${item.outcomeRef}`}>
            <Visible text={item.tool} />
          </a>
          <span class="row-note">
            for <Visible text={item.requester} /> · call <Code text={shortDigest(item.callDigest)} />
          </span>
          <span class="row-side">
            <State state={item.state} />
            {!item.sealIntact && <span class="badge bad">seal broken</span>}
            <Moment at={item.recordedAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Enough of a digest to tell calls apart; the record's page shows all of it. */
const shortDigest = (digest: string) => digest.slice(digest.indexOf(':') + 1).slice(0, 12);
