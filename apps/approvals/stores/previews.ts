import { type Json, valueAt } from '../../../workflows/domain/canonical-json.ts';
import type { Query } from '../../shared/database/query.ts';

/** Previews of calls, which clients send with their submissions. */
export const previews = (query: Query) => ({
  /** The preview of a request as it was sent, unchecked. Requests of a bundle have none, since it would be of all of them. */
  async preview(id: string): Promise<unknown> {
    const text = 'SELECT claimed FROM approvals.access_request WHERE id = $1 AND bundle_id IS NULL';
    const [row] = await query<{ claimed: string }>('preview', text, [id]);
    // Read here: the database cannot look into JSON that has U+0000 in a string.
    return row && valueAt(JSON.parse(row.claimed) as Json, ['client', 'source', 'preview']);
  },
});
