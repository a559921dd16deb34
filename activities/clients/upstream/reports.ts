import type { Logger } from 'pino';
import type { UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import { unfitNames } from '../../../workflows/domain/tools/model-names.ts';
import type { RefusedTool } from './offered-tools.ts';

interface Offered {
  readonly known: ReadonlyMap<string, UpstreamTool>;
  readonly refused: readonly RefusedTool[];
}

/** Names in one line of the log. */
const MAX_NAMES = 10;

/**
 * Tells the operator which tools are not offered, and why and which names a model cannot be given: each once, for as long as that stays
 * so, however often the tools are listed.
 */
export function createReports(log: Logger): (offered: Offered) => void {
  let reported = new Set<string>();
  return ({ known, refused }) => {
    const now = new Set<string>();
    const isNews = (...of: readonly string[]) => {
      const key = JSON.stringify(of);
      now.add(key);
      return !reported.has(key);
    };
    for (const { upstream, name, reason } of refused) {
      if (isNews(upstream, name, reason)) log.error({ upstream, tool: name, reason }, 'a tool is not offered');
    }
    for (const { upstream, names, advice } of unfitNames(known.values())) {
      if (!isNews(upstream, advice, ...names)) continue;
      const about = { upstream, count: names.length, tools: names.slice(0, MAX_NAMES) };
      log.warn(about, `most interfaces of models take no such names, and may refuse all tools then: ${advice}`);
    }
    reported = now;
  };
}
