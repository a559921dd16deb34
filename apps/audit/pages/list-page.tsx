import { TERMINAL_STATES } from '../../../workflows/domain/gated-call/outcome-record.ts';
import type { RecordQuery } from '../filters.ts';
import type { RecordSummary } from '../record-view.ts';
import { Moment, Reference, State, stateInWords } from './parts.tsx';

export interface RecordList {
  readonly items: readonly RecordSummary[];
  readonly nextCursor?: string;
}

/** The records that match, newest first, with the form that narrows them. */
export function ListPage({ list, query }: { list: RecordList; query: RecordQuery }) {
  return (
    <>
      <h1>Outcome records</h1>
      <p class="audit-lead">One for every gated call that ended. Newest first, times in UTC.</p>
      <Filters query={query} />
      {list.items.length === 0 ? <p class="audit-empty">No record matches.</p> : <RecordsTable items={list.items} />}
      {list.nextCursor && (
        <p class="audit-more">
          <a class="button" rel="next" href={`/outcome-records?${nextPage(query, list.nextCursor)}`}>
            Older records
          </a>
        </p>
      )}
    </>
  );
}

function nextPage(query: RecordQuery, cursor: string): string {
  const kept = Object.entries({ ...query, cursor }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return new URLSearchParams(kept).toString();
}

function Filters({ query }: { query: RecordQuery }) {
  return (
    <form class="audit-filters" method="get" action="/outcome-records">
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
      <Field name="callDigest" label="Call digest" query={query} hint="sha-256:…" />
      <Field name="from" label="From" query={query} type="date" />
      <Field name="until" label="Until" query={query} type="date" />
      <div class="audit-actions">
        <button type="submit">Show</button>
        <a href="/outcome-records">Clear</a>
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
  // A date field shows days only; an instant in the address stays visible as text.
  const isDay = type === 'date' && value.length <= 10;
  return (
    <label>
      {label}
      {isDay ? <input type="date" {...shared} /> : <input type="text" {...shared} spellcheck={false} />}
    </label>
  );
}

/** Records as a table; on a narrow screen each becomes a card. */
export function RecordsTable({ items }: { items: readonly RecordSummary[] }) {
  return (
    <table class="audit-records">
      <thead>
        <tr>
          <th scope="col">Recorded</th>
          <th scope="col">Tool</th>
          <th scope="col">Requester</th>
          <th scope="col">Ended as</th>
          <th scope="col">Call</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.outcomeRef}>
            <td data-label="Recorded">
              <a href={`/outcome-records/${item.outcomeRef}`}>
                <Moment at={item.recordedAt} />
              </a>
            </td>
            <td data-label="Tool">{item.tool}</td>
            <td data-label="Requester">{item.requester}</td>
            <td data-label="Ended as">
              <State state={item.state} />
              {!item.sealIntact && <strong class="audit-broken"> seal broken</strong>}
            </td>
            <td data-label="Call">
              <a href={`/outcome-records/by-call/${encodeURIComponent(item.callDigest)}`} title={item.callDigest}>
                <Reference>{item.callDigest.replace('sha-256:', '').slice(0, 12)}</Reference>
              </a>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
