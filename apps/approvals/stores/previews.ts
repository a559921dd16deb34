import { type Json, valueAt } from '../../../workflows/domain/canonical-json.ts';
import type { Query } from '../../shared/database/query.ts';
import { callFunction } from './query.ts';

/** Previews of a request as they were sent, unchecked. */
export interface SentPreviews {
  /** The one of the submission, which the client need not send. */
  readonly first: unknown;
  /** Those that approvers asked for, in their order, each with the name of the approver. */
  readonly further: readonly { readonly sent: unknown; readonly askedBy: string }[];
  /** Name of the credential of the client that submitted the request. */
  readonly client: string;
}

interface NewPreview {
  readonly id: string;
  /** JSON text. */
  readonly preview: string;
  readonly by: { readonly issuer: string; readonly subject: string; readonly name?: string };
}

interface Row {
  readonly claimed: string;
  readonly client: string;
  readonly further: readonly { readonly preview: string; readonly askedBy: string }[];
}

const SELECT = `
  SELECT r.claimed, r.submitted_by AS client, coalesce((
    SELECT json_agg(json_build_object('preview', p.preview, 'askedBy', coalesce(p.asked_by_name, p.asked_by_subject)) ORDER BY p.number)
    FROM approvals.preview p WHERE p.access_request_id = r.id), '[]') AS further
  FROM approvals.access_request r WHERE r.id = $1 AND r.bundle_id IS NULL`;

/** Previews of calls: what the servers of their tools say would happen. */
export const previews = (query: Query) => ({
  /** Undefined for a request of a bundle, since a preview would be of all of them. */
  async previews(id: string): Promise<SentPreviews | undefined> {
    const [row] = await query<Row>('previews', SELECT, [id]);
    // Read here: the database cannot look into JSON that has U+0000 in a string.
    return (
      row && {
        first: valueAt(JSON.parse(row.claimed) as Json, ['client', 'source', 'preview']),
        further: row.further.map(({ preview, askedBy }) => ({ sent: JSON.parse(preview) as unknown, askedBy })),
        client: row.client,
      }
    );
  },

  /** Keeps a preview that an approver asked for. Any outcome but `kept` changes nothing. */
  keepPreview: ({ id, preview, by: { issuer, subject, name } }: NewPreview) =>
    callFunction<'kept' | 'final' | 'full' | 'not_found'>(query, 'keep_preview', {
      ...{ request_id: id, preview, by_issuer: issuer, by_subject: subject, by_name: name },
    }),
});
