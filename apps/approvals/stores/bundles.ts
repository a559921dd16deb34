import type { Bundle } from '../../../workflows/domain/access-request/statement.ts';
import { functionCall } from '../../shared/database/function-call.ts';
import { accessRequestFrom, SELECT_WHOLE, type AccessRequestRow } from './access-request.row.ts';
import type { CancelOutcome, EndNote } from './ending.ts';
import { newRow, submissionColumns, type NewAccessRequest } from './new-rows.ts';
import { one, outcomeOf, type Query } from './query.ts';

export interface NewBundle {
  readonly id: string;
  /** Whether one denial covers all items, in this order. Otherwise each item has a denial of its own. */
  readonly hasOneDenial: boolean;
}

type Created =
  { readonly outcome: 'created' | 'repeated' | 'conflict'; readonly id: string } | { readonly outcome: 'replayed' };

/** Access requests that were submitted together. */
export function bundles(query: Query) {
  /** Expires overdue items first: a reader never sees an item pending past its deadline. */
  const findBundle = async (id: string): Promise<Bundle | undefined> => {
    const text = `${SELECT_WHOLE} WHERE r.bundle_id = $1 ORDER BY r.position`;
    const rows = await query<AccessRequestRow>('find-bundle', text, [id]);
    if (rows.length === 0) return undefined;
    const overdue = rows.filter((row) => row.overdue);
    if (overdue.length === 0) return { id, items: rows.map(accessRequestFrom) };
    // One at a time: each commits before the next is locked.
    for (const row of overdue) await query('expire', 'SELECT approvals.expire_access_request($1)', [row.id]);
    return findBundle(id);
  };
  return {
    findBundle,

    createBundle: (bundle: NewBundle, requests: readonly NewAccessRequest[]) => {
      const { text, values } = functionCall('approvals.create_bundle', rowOf(bundle, requests));
      return one(query<Created>('create-bundle', `SELECT * FROM ${text}`, values));
    },

    /** Cancels the open items. `final`: no item was open. */
    cancelBundle: (id: string, { note, clientId }: { note: EndNote; clientId: string }) =>
      outcomeOf<CancelOutcome>(query, {
        name: 'cancel-bundle',
        text: 'approvals.cancel_bundle($1, $2, $3)',
        values: [id, clientId, JSON.stringify(note)],
      }),
  };
}

/** The first item has the idempotency key, whose uniqueness prevents a second bundle. The bundle has the callback. */
function rowOf({ id, hasOneDenial }: NewBundle, requests: readonly NewAccessRequest[]) {
  const [first] = requests;
  if (first === undefined) throw new RangeError('a bundle has items');
  const items = requests.map((request, at) => {
    const alone = { ...request, callback: undefined, idempotencyKey: at === 0 ? request.idempotencyKey : undefined };
    return { ...newRow(alone), position: at + 1, denial_part: hasOneDenial ? at + 1 : 1 };
  });
  return { ...submissionColumns(first), id, items: JSON.stringify(items) };
}
