import type { Logger } from 'pino';
import { parse } from 'yaml';
import * as z from 'zod';
import type { Timing } from '../../apps/shared/limits.ts';
import { type Json, type JsonObject, ownProperty } from '../../workflows/domain/canonical-json.ts';
import type { RequirementChecks, RequirementQuery } from '../../workflows/domain/tools/requirements.ts';
import { jsonIn, sendHttp } from './http.ts';
import { readText } from '../../apps/shared/text-file.ts';

/** How one requirement is checked. */
export type RequirementSetting =
  /** By the configuration itself. */
  | { readonly met: boolean }
  /** By a claim of the caller's token, which is this value or a list that has it. */
  | { readonly claim: string; readonly value: string | number | boolean }
  /** By a file in YAML or JSON: an object in which the requirement is `true`. Read anew each time. */
  | { readonly flagsFile: string }
  /** By a service that is sent the requirement, the tool and the caller, and answers `{ "met": true | false }`. */
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> };

type Answer = 'met' | 'unmet' | 'undecided';

const flags = z.record(z.string(), z.boolean());
const serviceAnswer = z.looseObject({ met: z.boolean() });

/** Checks by the configuration: one way for each requirement, which is found by its exact text. */
export function createRequirementChecks(
  settings: Readonly<Record<string, RequirementSetting>>,
  { log, ...time }: Timing & { readonly log: Logger },
): RequirementChecks {
  async function checkOne(requirement: string, query: RequirementQuery): Promise<Answer> {
    const setting = ownProperty(settings, requirement);
    if (setting === undefined) return 'unmet';
    try {
      return (await isMet(setting, { requirement, query }, time)) ? 'met' : 'unmet';
    } catch (err) {
      log.warn({ requirement, tool: query.tool, err }, 'a requirement cannot be checked; it counts as not met');
      return 'undecided';
    }
  }

  return {
    claimNames: [...new Set(Object.values(settings).flatMap((setting) => ('claim' in setting ? [setting.claim] : [])))],
    async check(query) {
      const answers = await Promise.all(query.requirements.map((one) => checkOne(one, query)));
      const having = (answer: Answer) => query.requirements.filter((_, index) => answers[index] === answer);
      return { unmet: having('unmet'), undecided: having('undecided') };
    },
  };
}

interface Asked {
  readonly requirement: string;
  readonly query: RequirementQuery;
}

/** Rejects when it cannot be checked. */
async function isMet(setting: RequirementSetting, { requirement, query }: Asked, time: Timing): Promise<boolean> {
  if ('met' in setting) return setting.met;
  if ('claim' in setting) return holds(query.claims, setting);
  if ('flagsFile' in setting) {
    const all = flags.parse(parse(await readText(setting.flagsFile)));
    return ownProperty(all, requirement) === true;
  }
  return askService(setting, { requirement, query }, time);
}

function holds(claims: JsonObject, { claim, value }: { claim: string; value: Json }): boolean {
  const held = ownProperty(claims, claim);
  // Scopes are the only list that tokens write as a text. @see RFC 6749, section 3.3
  if (claim === 'scope' && typeof held === 'string') return held.split(' ').some((scope) => scope === value);
  return Array.isArray(held) ? held.includes(value) : held === value;
}

async function askService(
  { url, headers }: { url: string; headers: Readonly<Record<string, string>> },
  { requirement, query: { tool, caller } }: Asked,
  { clock, limits }: Timing,
): Promise<boolean> {
  const { issuer, subject, clientId } = caller;
  const answer = await sendHttp(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ requirement, tool, caller: { issuer, subject, client_id: clientId } }),
    timeoutMs: limits.requirementMs,
    clock,
  });
  if (answer.status !== 200) throw new Error(`the service answered ${answer.status}`);
  return serviceAnswer.parse(jsonIn(answer)).met;
}
