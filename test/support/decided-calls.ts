import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configuredPlaces } from '../../apps/cli/commands/lint/policies.ts';
import { suggestRules, type Suggestions } from '../../apps/pdp/main.ts';
import { parseConfig } from '../../apps/shared/config/config.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { Effect } from '../../workflows/domain/tools/tool-facts.ts';
import { permitting, SCHEMA } from './policy-folder.ts';
import { testRunFolder } from './test-run.ts';

/** A request that ended, as the history has it. */
export type DecidedCall = Parameters<
  Parameters<typeof suggestRules>[0]['history'] extends () => AsyncIterable<infer D> ? (d: D) => void : never
>[0];

interface CallChanges {
  readonly tool?: string;
  readonly agent?: string;
  readonly subject?: string;
  readonly args?: JsonObject;
  readonly effect?: Effect | undefined;
  readonly verdict?: DecidedCall['verdict'];
  readonly people?: readonly string[];
  readonly suitsGrants?: boolean;
  readonly endedAt?: number;
}

/** A call of `files__write` by the agent `coder` for `dana`, which `alice` approved. */
export function aDecidedCall(changes: CallChanges = {}): DecidedCall {
  const { tool = 'files__write', agent = 'coder', subject = 'dana', args = { path: '/srv/a' } } = changes;
  const { verdict = 'approved', people = ['alice'], suitsGrants = true, endedAt = 0 } = changes;
  const effect = 'effect' in changes ? changes.effect : 'write';
  const call = { tool, server: 'files', roles: [], ...(effect !== undefined && { effect }) };
  return {
    ...{ effect, verdict, people, suitsGrants, endedAt },
    request: {
      subject: { type: 'identity', id: subject },
      action: { name: 'tools/call' },
      resource: { type: 'tool', id: tool },
      context: { agent, arguments: args, call },
    },
  };
}

const AT = { baseDir: '/', stateDir: '/' };
const SERVERS = { files: { url: 'https://files.test/mcp' } };

let quick: string | undefined;

/** A folder of policies that load fast, and permit nothing. */
function quickPolicies(): string {
  if (quick !== undefined) return quick;
  quick = mkdtempSync(join(testRunFolder(), 'policies-'));
  const schema = SCHEMA.replace('path?: String', 'agent?: String');
  const files = { 'schema.cedarschema': schema, 'entities.json': '[]', 'a.cedar': permitting('nothing') };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(quick, name), text);
  return quick;
}

/** The places of a configuration with these rules. */
export const placesOf = (rules: readonly object[], more: object = {}) =>
  configuredPlaces(parseConfig({ mcpServers: SERVERS, rules, pdp: { policies: quickPolicies() }, ...more }, AT));

interface Suggested {
  readonly rules?: readonly object[];
  readonly more?: object;
  readonly minApprovals?: number;
  readonly minPeople?: number;
}

/** What is proposed for this history where these rules are in force. By default, every call needs an approval. */
export function suggestFor(calls: readonly DecidedCall[], of: Suggested = {}): Promise<Suggestions> {
  const { rules = [{ approve: 'files__*', name: 'asks' }], more = {}, minApprovals = 20, minPeople = 2 } = of;
  return suggestRules({
    history: async function* () {
      yield* calls;
    },
    present: placesOf(rules, more),
    placesWith: (proposed) => placesOf([...rules, ...proposed], more),
    statedEffect: () => undefined,
    namesTaken: [],
    ...{ minApprovals, minPeople },
    onProgress: () => undefined,
  });
}
