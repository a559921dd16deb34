import type { RecordView } from '../record-view.ts';
import { RecordsTable } from './list-page.tsx';
import { RecordPage } from './record-page.tsx';
import { Reference } from './parts.tsx';

/** Everything on record about one call. Usually that is one record. */
export function CallPage({ items }: { items: readonly [RecordView, ...RecordView[]] }) {
  if (items.length === 1) return <RecordPage view={items[0]} />;
  return (
    <>
      <p class="audit-back">
        <a href="/outcome-records">All outcome records</a>
      </p>
      <h1>The same call, {items.length} times</h1>
      <p class="audit-lead">
        Same tool, same arguments: <Reference>{items[0].callDigest}</Reference>. Each was a task of its own with a
        decision of its own; none is a retry of another.
      </p>
      <RecordsTable items={items} />
    </>
  );
}
