import type { UpstreamItems, Upstreams } from '../../../workflows/domain/upstream-ports.ts';
import { ITEM_KINDS, type Listed } from '../../../workflows/domain/tools/pins.ts';

/** Everything that these upstreams offer now, tools first: where there is no room for all of it, they are pinned before others. */
export async function offeredBy(
  upstreams: Pick<Upstreams, 'tools'> & { readonly items: Pick<UpstreamItems, 'list'> },
): Promise<readonly Listed[]> {
  const [tools, ...items] = await Promise.all([
    upstreams.tools(),
    ...ITEM_KINDS.map((kind) => upstreams.items.list(kind)),
  ]);
  return [...tools, ...items.flat()];
}
