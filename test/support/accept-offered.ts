import type { Pool } from 'pg';
import { createDescriptionStore } from '../../activities/stores/accepted-descriptions.ts';
import { offeredBy } from '../../apps/gateway/extensions/signature.ts';
import { asAccepted, type AcceptedDescription } from '../../workflows/domain/tools/accepted-descriptions.ts';
import { openUpstreams } from './upstreams.ts';

/** All current offers of these upstreams, with their descriptions. */
export async function offeredNow(mcpServers: object): Promise<readonly AcceptedDescription[]> {
  const upstreams = openUpstreams(mcpServers);
  try {
    return (await offeredBy(upstreams)).map(asAccepted);
  } finally {
    await upstreams.close();
  }
}

/** Acts as an operator who accepts all current offers and descriptions. */
export async function acceptOffered(pool: Pool, mcpServers: object): Promise<void> {
  await createDescriptionStore(pool).accept(await offeredNow(mcpServers), []);
}
