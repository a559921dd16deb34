import type { Logger } from 'pino';
import { pinNameOf, type Listed, type PinKind } from '../../../workflows/domain/tools/pins.ts';

/** Descriptions of which the log has said that they are not accepted; then it may say so again. */
const MAX_REPORTED = 50_000;
/** The first of the names, where many go in one line. */
const NAMES = 10;

/** What the log says of things that are not used: once for each description, however often it is listed. */
export interface Reports {
  /** These are not as they were accepted: a line for each upstream and kind. */
  readonly unaccepted: (things: readonly Listed[]) => void;
  /** Of this upstream no more is pinned; so many things were left out just now. Once, until the process ends. */
  readonly full: (upstream: string, leftOut: number) => void;
}

export function createReports(log: Logger): Reports {
  const reported = new Set<string>();
  const full = new Set<string>();

  /** Whether it is said for the first time. */
  const isNews = (description: string) => {
    if (reported.has(description)) return false;
    if (reported.size >= MAX_REPORTED) reported.clear();
    reported.add(description);
    return true;
  };
  return {
    unaccepted(things) {
      const groups = new Map<string, { kind: PinKind; upstream: string; names: string[] }>();
      for (const thing of things) {
        const { kind, name } = pinNameOf(thing);
        const { upstream, digest } = thing;
        if (!isNews(JSON.stringify([kind, name, upstream, digest]))) continue;
        const key = `${kind} ${upstream}`;
        const group = groups.get(key) ?? { kind, upstream, names: [] };
        group.names.push(name);
        groups.set(key, group);
      }
      for (const { kind, upstream, names } of groups.values()) {
        log.error(
          { alarm: `${kind}_not_accepted`, upstream, count: names.length, names: names.slice(0, NAMES) },
          'what an upstream offers is not described as it was accepted, and is not offered; see `countersign signature diff`',
        );
      }
    },
    full(upstream, leftOut) {
      if (full.has(upstream)) return;
      full.add(upstream);
      log.error(
        { alarm: 'pins_full', upstream, leftOut },
        'an upstream lists more than is accepted without a word (10,000 things, 16 MiB of descriptions): what is beyond ' +
          'that is not offered. `countersign signature accept` accepts it, and forgets what is gone',
      );
    },
  };
}
