import type { AccessRequestStatus } from '../../../workflows/domain/access-request/access-request.ts';
import {
  BUNDLE_PREFIX,
  bundleStatus,
  type Bundle,
  type BundleStatus,
} from '../../../workflows/domain/access-request/bundle.ts';
import type { Query } from './query.ts';

/** What the callback of an ended task says, and where it goes. */
export interface PendingCallback {
  readonly endpoint: string;
  readonly state: string | undefined;
  readonly status: BundleStatus;
  readonly endedAt: string;
  /** Name of the credential that asked for it. */
  readonly client: string;
}

interface CallbackRow {
  readonly endpoint: string;
  readonly state: string | null;
  readonly client: string;
}

const COLUMNS = 'callback_endpoint AS endpoint, callback_state AS state, submitted_by AS client';

/** Who is told when a task has ended, and what. */
export function callbacks(query: Query, findBundle: (id: string) => Promise<Bundle | undefined>) {
  const ofRequest = async (id: string): Promise<PendingCallback | undefined> => {
    const [row] = await query<CallbackRow & { status: AccessRequestStatus; ended_at: Date }>(
      'callback',
      `SELECT ${COLUMNS}, status, ended_at FROM approvals.access_request
       WHERE id = $1 AND callback_endpoint IS NOT NULL AND ended_at IS NOT NULL`,
      [id],
    );
    return row && callbackFrom(row, { status: row.status, endedAt: row.ended_at.toISOString() });
  };
  const ofBundle = async (id: string): Promise<PendingCallback | undefined> => {
    const [row] = await query<CallbackRow & { events: string[] | null }>(
      'bundle-callback',
      `SELECT ${COLUMNS}, callback_events AS events FROM approvals.bundle
       WHERE id = $1 AND callback_endpoint IS NOT NULL`,
      [id],
    );
    const end = row && endOf(await findBundle(id));
    if (row === undefined || end === undefined) return undefined;
    const isAskedFor = row.events === null || row.events.includes(end.status);
    return isAskedFor ? callbackFrom(row, end) : undefined;
  };
  return {
    /** The callback of a request or a bundle. Undefined when there is none, nobody to tell, or nothing to tell yet. */
    callbackOf: (id: string): Promise<PendingCallback | undefined> =>
      id.startsWith(BUNDLE_PREFIX) ? ofBundle(id) : ofRequest(id),
  };
}

const callbackFrom = (
  { endpoint, state, client }: CallbackRow,
  end: Pick<PendingCallback, 'status' | 'endedAt'>,
): PendingCallback => ({ endpoint, state: state ?? undefined, client, ...end });

/** A bundle has ended with the last of its items. */
function endOf(bundle: Bundle | undefined): Pick<PendingCallback, 'status' | 'endedAt'> | undefined {
  if (bundle === undefined) return undefined;
  const status = bundleStatus(bundle.items.map((item) => item.status));
  const endedAt = bundle.items
    .flatMap((item) => item.endedAt ?? [])
    .sort()
    .at(-1);
  return status === 'pending' || endedAt === undefined ? undefined : { status, endedAt };
}
