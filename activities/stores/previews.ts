import { query } from '../../apps/shared/database/query.ts';
import type { GatedCalls } from '../../workflows/domain/ports.ts';
import { callFunction, sealsOf, type StepContext } from './query.ts';
import { loadCall } from './stored-call.ts';

/** Further previews of calls that wait for a decision. The first goes on record with the opening. */
export const previews = (context: StepContext): Pick<GatedCalls, 'waitingCall' | 'addPreview'> => ({
  async waitingCall({ webhookId, bodyDigest, accessRequestId }) {
    const text = 'SELECT gated_call_id AS id, previews FROM gateway.waiting_call($1, $2, $3)';
    const values = [webhookId, bodyDigest, context.seals.digest(accessRequestId)];
    const [row] = await query<{ id: string; previews: number }>(context.pool, 'waiting-call', text, values);
    if (row === undefined) return undefined;
    const { binding } = await loadCall(context, row.id);
    return { gatedCallId: row.id, binding, previews: row.previews };
  },

  async addPreview({ gatedCallId, previews: earlier }, preview) {
    const number = earlier + 1;
    const keys = await sealsOf(context, gatedCallId);
    const sealed_preview = keys.seal('preview.sealed_preview', JSON.stringify(preview), number);
    return callFunction(context.pool, 'add-preview', { call: gatedCallId, number, sealed_preview });
  },
});
