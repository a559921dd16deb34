import type { Query } from '../../shared/database/query.ts';

/** Previews of calls, which clients send with their submissions. */
export const previews = (query: Query) => ({
  /** The preview of a request as it was sent, unchecked. Requests of a bundle have none, since it would be of all of them. */
  async preview(id: string): Promise<unknown> {
    const text = `SELECT claimed::json #> '{client,source,preview}' AS sent FROM approvals.access_request WHERE id = $1 AND bundle_id IS NULL`;
    const [row] = await query<{ sent: unknown }>('preview', text, [id]);
    return row?.sent ?? undefined;
  },
});
