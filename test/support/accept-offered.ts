import type { Pool } from 'pg';
import { createPins } from '../../activities/stores/pins.ts';
import { offeredBy } from '../../apps/gateway/extensions/signature.ts';
import { asAccepted, type AcceptedDescription } from '../../workflows/domain/tools/accepted-descriptions.ts';
import { openUpstreams } from './upstreams.ts';

/** Everything that these upstreams offer, as it is described in this moment. */
export async function offeredNow(mcpServers: object): Promise<readonly AcceptedDescription[]> {
  const upstreams = openUpstreams(mcpServers);
  try {
    return (await offeredBy(upstreams)).map(asAccepted);
  } finally {
    await upstreams.close();
  }
}

/** What an operator does who accepts everything as it is described in this moment. */
export async function acceptOffered(pool: Pool, mcpServers: object): Promise<void> {
  await createPins(pool).accept(await offeredNow(mcpServers), []);
}
