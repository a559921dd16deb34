import { Code } from '../../shared/pages/visible.tsx';
import type { RecordView } from '../record-view.ts';
import { RecordRows } from './list-page.tsx';
import { ToTheList } from './parts.tsx';
import { RecordPage } from './record-page.tsx';

/** Everything on record about one call. Usually that is one record. */
export function CallPage({ items }: { items: readonly [RecordView, ...RecordView[]] }) {
  if (items.length === 1) return <RecordPage view={items[0]} />;
  return (
    <>
      <ToTheList />
      <h1>The same call, {items.length} times</h1>
      <p>
        Same tool, same arguments: <Code text={items[0].callDigest} />
      </p>
      <p class="soft">Each was a task of its own with decisions of its own; none is a retry of another.</p>
      <RecordRows items={items} />
    </>
  );
}
