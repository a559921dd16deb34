import type { UpstreamThing } from '../upstream-ports.ts';
import { namePrefixOf } from './wire-names.ts';

/** Interfaces of models take no other names of tools, and many refuse a request with all its tools for one that differs. */
const MOST = 64;
const FITTING = /^[A-Za-z0-9_-]+$/;

/** Public names of one upstream that most interfaces of models do not take. */
export interface UnfitNames {
  readonly upstream: string;
  readonly names: readonly string[];
  /** A sentence about them, with the next step. */
  readonly advice: string;
}

/** The names of these tools that most interfaces of models do not take, by upstream. */
export function unfitNames(
  tools: Iterable<Pick<UpstreamThing, 'upstream' | 'upstreamName' | 'name'>>,
): readonly UnfitNames[] {
  const all = [...tools];
  return [...new Set(all.map(({ upstream }) => upstream))].flatMap((upstream) => {
    const own = all.filter((tool) => tool.upstream === upstream);
    const odd = own.filter(({ upstreamName }) => !FITTING.test(upstreamName));
    const long = own.filter(({ name, upstreamName }) => name.length > MOST && FITTING.test(upstreamName));
    return [
      ...about(
        upstream,
        odd,
        'they have other characters than letters, digits, "_" and "-", which only the server can change',
      ),
      ...about(upstream, long, `they are longer than ${MOST} characters; ${shorter(upstream, long)}`),
    ];
  });
}

const about = (upstream: string, tools: readonly { readonly name: string }[], advice: string): UnfitNames[] =>
  tools.length === 0 ? [] : [{ upstream, names: tools.map(({ name }) => name), advice }];

/** How all these names get short enough. */
function shorter(upstream: string, tools: readonly { readonly upstreamName: string }[]): string {
  const longest = Math.max(0, ...tools.map(({ upstreamName }) => upstreamName.length));
  const room = MOST - longest - namePrefixOf('x').length + 1;
  const proposed = upstream.replaceAll(/[^A-Za-z0-9-]+/g, '').slice(0, Math.max(0, room));
  if (proposed !== '') return `set \`prefix: ${proposed}\` for the server`;
  if (longest <= MOST) return "set `prefix: ''` for the server, which gives its tools their own names";
  return 'only the server can shorten them';
}
