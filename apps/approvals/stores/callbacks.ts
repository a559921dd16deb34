import {
  type Bundle,
  BUNDLE_PREFIX,
  bundleStatus,
  type BundleStatus,
} from '../../../workflows/domain/access-request/statement.ts';
import type { Query } from '../../shared/database/query.ts';
import { camelCased } from './query.ts';

/** The callback of an ended task. */
interface PendingCallback {
  readonly endpoint: string;
  readonly state?: string;
  readonly status: BundleStatus;
  readonly endedAt: string;
  /** Name of the credential that registered it. */
  readonly client: string;
}

const COLUMNS = 'callback_endpoint AS endpoint, callback_state AS state, submitted_by AS client';

export function callbacks(query: Query, findBundle: (id: string) => Promise<Bundle | undefined>) {
  const ofRequest = async (id: string): Promise<PendingCallback | undefined> => {
    const text = `SELECT ${COLUMNS}, status, ended_at FROM approvals.access_request
       WHERE id = $1 AND callback_endpoint IS NOT NULL AND ended_at IS NOT NULL`;
    const [row] = await query('callback', text, [id]);
    return row && (camelCased(row) as PendingCallback);
  };
  const ofBundle = async (id: string): Promise<PendingCallback | undefined> => {
    const text = `SELECT ${COLUMNS}, callback_events AS events FROM approvals.bundle
       WHERE id = $1 AND callback_endpoint IS NOT NULL`;
    const [row] = await query('bundle-callback', text, [id]);
    const end = row && endOf(await findBundle(id));
    if (row === undefined || end === undefined) return undefined;
    const { events, ...callback } = camelCased(row) as PendingCallback & { readonly events?: readonly string[] };
    return events === undefined || events.includes(end.status) ? { ...callback, ...end } : undefined;
  };
  return {
    /** The callback of a request or a bundle. Undefined when it has not ended, has no callback, or did not ask for this event. */
    callbackOf: (id: string): Promise<PendingCallback | undefined> =>
      id.startsWith(BUNDLE_PREFIX) ? ofBundle(id) : ofRequest(id),
  };
}

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
