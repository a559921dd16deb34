import { canonicalJson, type JsonObject, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import { refusalOf, toolFacts, type ToolSettings } from '../../../workflows/domain/tools/tool-facts.ts';
import { OWN_TOOLS } from '../../../workflows/domain/tools/wire-names.ts';
import { sha256 } from '../../../apps/shared/crypto.ts';
import type { UpstreamConnection } from './connection.ts';

const RESERVED = "the name is one of the gateway's own tools; give the upstream a prefix";
const OWN_NAMES: readonly string[] = Object.values(OWN_TOOLS);
const NO_DIGEST = 'it has no canonical description (a number out of range or a broken character)';
const CLAIMED_TWICE = 'two upstream tools have this name; give an upstream another prefix to tell them apart';

/** A tool that an upstream lists, and that is not offered. */
export interface RefusedTool {
  readonly upstream: string;
  readonly name: string;
  readonly reason: string;
}

export type SettingsByTool = Readonly<Record<string, ToolSettings>>;

/**
 * Sorts the tools that the upstreams listed last: those that are offered, and the others. A name that two upstreams claim belongs to
 * neither: it would be unknown which one was approved.
 */
export function sortOut(upstreams: ReadonlyMap<string, PrefixedUpstream>, settings: SettingsByTool) {
  const known = new Map<string, UpstreamTool>();
  const refused = new Map<string, RefusedTool>();
  const refuse = (upstream: string, name: string, reason: string) => {
    known.delete(name);
    refused.set(name, { upstream, name, reason });
  };
  for (const [upstream, { connection, namePrefix }] of upstreams) {
    for (const definition of connection.tools ?? []) {
      const name = `${namePrefix}${definition['name'] as string}`;
      const tool = describe({ upstream, namePrefix, connection: connection.id }, definition, settings);
      const isClaimedTwice = known.has(name) || refused.has(name);
      const reason = OWN_NAMES.includes(name) ? RESERVED : isClaimedTwice ? CLAIMED_TWICE : reasonAgainst(tool);
      if (tool !== undefined && reason === undefined) known.set(name, tool);
      else refuse(upstream, name, reason ?? NO_DIGEST);
    }
    for (const { name, reason } of connection.unusableTools) refuse(upstream, `${namePrefix}${name}`, reason);
  }
  return { known, refused: [...refused.values()] };
}

const reasonAgainst = (tool: UpstreamTool | undefined) => (tool === undefined ? NO_DIGEST : refusalOf(tool.facts));

/** Digests by definition: a new list of one upstream costs nothing for the tools of the others. */
const digests = new WeakMap<JsonObject, string>();

function describe(
  { namePrefix, ...from }: Pick<UpstreamTool, 'upstream' | 'connection'> & { readonly namePrefix: string },
  definition: JsonObject,
  settings: SettingsByTool,
): UpstreamTool | undefined {
  const upstreamName = definition['name'] as string;
  const name = `${namePrefix}${upstreamName}`;
  try {
    const digest = digests.get(definition) ?? `sha-256:${sha256(canonicalJson(definition))}`;
    digests.set(definition, digest);
    const facts = toolFacts(definition, ownProperty(settings, name));
    return { kind: 'tool', ...from, upstreamName, name, definition, digest, facts };
  } catch {
    return undefined;
  }
}

export interface PrefixedUpstream {
  readonly connection: UpstreamConnection;
  /** Prefix of the public names of its tools and prompts, separator included. Empty: they are the upstream's own. */
  readonly namePrefix: string;
}

/** Every upstream whose prefix begins the name: `a` and `a_` may both be meant by `a___b`, and one without any always. */
export const candidatesFor = (
  name: string,
  upstreams: ReadonlyMap<string, PrefixedUpstream>,
): [string, PrefixedUpstream][] => [...upstreams].filter(([, { namePrefix }]) => name.startsWith(namePrefix));
