import { isDeepStrictEqual } from 'node:util';
import type { Config } from './config.ts';

/** What a follower does when a configuration comes into force, and what it does when that configuration is given up. */
export interface Prepared {
  /** Puts the prepared parts in force. Does not throw and does not wait: all followers commit in one go. */
  commit(): void;
  /** Frees what was prepared. Called instead of `commit` when another follower refuses the configuration. */
  discard?(): void;
}

/**
 * Prepares for a configuration. Throws `ERR_CONFIG_INVALID` if it cannot be used: then nothing of it is applied. A follower that only checks
 * answers nothing.
 */
export type Follower = (next: Config) => Promise<Prepared | void>;

/** The configuration of a process, some settings of which can change while the process runs. */
export interface LiveConfig {
  /**
   * The settings as parts read them. Each read of a live setting gives the value that is in force then, so a part that keeps it for longer
   * follows the changes. All other settings stay as they were at the start.
   */
  readonly config: Config;
  /** The configuration in force: another object after each change, never an earlier one again. */
  inForce(): Config;
  /** Adds a follower. Answers how to leave. */
  follow(follower: Follower): () => void;
}

/** A configuration that never changes. */
export const unchanging = (config: Config): LiveConfig => ({
  config,
  inForce: () => config,
  follow: () => () => undefined,
});

/**
 * Settings that apply while the product runs, as the file has them. `pdp.policies` is one of them because `rules` can replace the policy
 * folder and the other way round.
 */
const LIVE_SETTINGS = [
  ['mcpServers'],
  ['tools'],
  ['rules'],
  ['pdp', 'policies'],
  ['approvals', 'templates'],
  ['identity', 'people'],
] as const;

type Raw = Readonly<Record<string, unknown>>;
const objectIn = (value: unknown): Raw => (typeof value === 'object' && value !== null ? (value as Raw) : {});

/** The settings of the start, with the live ones of `next`. Both are as a file says them. */
export function withLiveSettings(start: unknown, next: unknown): Raw {
  let all = objectIn(start);
  for (const [section, member] of LIVE_SETTINGS) {
    const theirs = objectIn(next)[section];
    if (member === undefined) all = put(all, section, theirs);
    else if (Object.hasOwn(all, section) || objectIn(theirs)[member] !== undefined)
      all = put(all, section, put(objectIn(all[section]), member, objectIn(theirs)[member]));
  }
  return all;
}

function put(of: Raw, name: string, value: unknown): Raw {
  const { [name]: _before, ...others } = of;
  return value === undefined ? others : { ...others, [name]: value };
}

/** The live settings that differ, as an operator writes them. */
export function changedSettings(before: Config, after: Config): string[] {
  const valueOf = (config: Config, [section, member]: (typeof LIVE_SETTINGS)[number]): unknown =>
    member === undefined ? config[section] : objectIn(config[section])[member];
  const differ = LIVE_SETTINGS.filter((path) => !isDeepStrictEqual(valueOf(before, path), valueOf(after, path)));
  return differ.map((path) => path.join('.'));
}

/** Members of the configuration that follow from others. */
const DERIVED = new Set(['authority', 'keyUrls', 'urls']);

/** Settings in which two configurations differ, as an operator writes them. */
export function differences(before: unknown, after: unknown, path: readonly string[] = []): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  const isSection = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isSection(before) || !isSection(after)) return [path.join('.')];
  const [old, now] = [objectIn(before), objectIn(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter((name) => path.length > 0 || !DERIVED.has(name))
    .flatMap((name) => differences(old[name], now[name], [...path, name]));
}

/** A configuration whose live settings are read from the one in force, each time that they are read. */
export function followed(inForce: () => Config): Config {
  const start = inForce();
  return Object.freeze({
    ...start,
    get mcpServers() {
      return inForce().mcpServers;
    },
    get tools() {
      return inForce().tools;
    },
    get rules() {
      return inForce().rules;
    },
    pdp: {
      ...start.pdp,
      get policies() {
        return inForce().pdp.policies;
      },
      get rules() {
        return inForce().pdp.rules;
      },
    },
    approvals: {
      ...start.approvals,
      get templates() {
        return inForce().approvals.templates;
      },
    },
    identity: {
      ...start.identity,
      get people() {
        return inForce().identity.people;
      },
    },
  });
}
