import { Code } from '../../shared/pages/visible.tsx';
import type { RecordView } from '../record-view.ts';
import { addressOf, RecordRows } from './list-page.tsx';
import { ToTheList } from './parts.tsx';
import { RecordPage } from './record-page.tsx';

/** Everything on record about one call. Usually that is one record. */
export function CallPage({ items, isWhole }: { items: readonly [RecordView, ...RecordView[]]; isWhole: boolean }) {
  if (items.length === 1) return <RecordPage view={items[0]} />;
  return (
    <>
      <ToTheList />
      <h1>{isWhole ? `The same call, ${items.length} times` : `The same call, its ${items.length} newest records`}</h1>
      <p>
        Same tool, same arguments: <Code text={items[0].callDigest} />
      </p>
      <p class="soft">Each was a task of its own with decisions of its own; none is a retry of another.</p>
      <RecordRows items={items} />
      {!isWhole && (
        <p class="audit-more">
          <a class="button" href={addressOf({ callDigest: items[0].callDigest })}>
            All of them, page by page
          </a>
        </p>
      )}
    </>
  );
}
