import type { Logger } from 'pino';
import type { Cancel, Clock } from '../../shared/clock.ts';
import { describeProblem } from '../cedar/problems.ts';
import { fingerprint } from './fingerprint.ts';
import {
  loadVersion,
  problemsOf,
  readPolicyTexts,
  shortVersion,
  type PolicyPlaces,
  type PolicyVersion,
} from './version.ts';

/** What operators see of the policies in force. */
export interface PolicyStatus {
  readonly policy_version: string;
  readonly policies_in_force_since: string;
  /** Since when files are there that cannot be put in force; absent when the version in force is what the files say. */
  readonly policies_rejected_since?: string;
}

/** The policies in force: always one whole version, the last that could be loaded. */
export interface PolicySource {
  /** Does work with the version in force. It stays usable until the work is done, whatever is put in force meanwhile. */
  use<T>(work: (version: PolicyVersion) => Promise<T>): Promise<T>;
  /** Text of a request schema by the last part of its path, of earlier versions too: denials still name those. */
  findRequestSchema(name: string): string | undefined;
  status(): PolicyStatus;
  /** Reads everything now, whether it seems to have changed or not. What is wrong goes to the log. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** A change is read when the files have rested from one look to the next: a deployment writes several, one after the other. */
const LOOK_EVERY_MS = 1_000;
/** Clocks of file systems are coarse, so a change may not show. It is read after so many looks all the same. */
const READ_EVERY_LOOKS = 60;
const KEPT_SCHEMAS = 256;

interface InForce {
  readonly version: PolicyVersion;
  readonly since: Date;
  users: number;
}

/** Loads what is there and follows its changes. Throws `ERR_CONFIG_INVALID` when it cannot be used at the start. */
export async function openPolicies(
  places: PolicyPlaces,
  { log, clock, lookEveryMs = LOOK_EVERY_MS }: { log: Logger; clock: Clock; lookEveryMs?: number },
): Promise<PolicySource> {
  const seen = await fingerprint(places);
  const texts = await readPolicyTexts(places);
  const first = await loadVersion(texts, places);
  return new WatchedPolicies({ places, clock, log, lookEveryMs }, { first, seen });
}

interface Watched {
  readonly places: PolicyPlaces;
  readonly clock: Clock;
  readonly log: Logger;
  readonly lookEveryMs: number;
}

class WatchedPolicies implements PolicySource {
  readonly #of: Watched;
  readonly #schemas = new Map<string, string>();
  #current: InForce;
  /** Files that cannot be put in force, and what they are known by, so that each state of them is told once. */
  #rejected: { readonly id: string | undefined; readonly since: Date } | undefined;
  /** Fingerprints: of what was read last, and of the last look. */
  #read: string;
  #seen: string;
  #looks = 0;
  #cancel: Cancel | undefined;
  /** One look or reload after the other. */
  #turn: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(of: Watched, { first, seen }: { first: PolicyVersion; seen: string }) {
    this.#of = of;
    this.#read = this.#seen = seen;
    this.#current = this.#enforce(first);
    this.#schedule();
  }

  async use<T>(work: (version: PolicyVersion) => Promise<T>): Promise<T> {
    const inForce = this.#current;
    inForce.users += 1;
    try {
      return await work(inForce.version);
    } finally {
      inForce.users -= 1;
      this.#releaseUnused(inForce);
    }
  }

  findRequestSchema(name: string): string | undefined {
    return this.#schemas.get(name);
  }

  status(): PolicyStatus {
    const { version, since } = this.#current;
    return {
      policy_version: version.id,
      policies_in_force_since: since.toISOString(),
      ...(this.#rejected && { policies_rejected_since: this.#rejected.since.toISOString() }),
    };
  }

  async reload(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#rejected) this.#rejected = { ...this.#rejected, id: undefined };
      await this.#load(await fingerprint(this.#of.places));
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#turn;
  }

  #now(): Date {
    return new Date(this.#of.clock.now());
  }

  #schedule(): void {
    if (this.#closed) return;
    const look = () => void this.#inTurn(() => this.#look()).finally(() => this.#schedule());
    this.#cancel = this.#of.clock.once(this.#of.lookEveryMs, look);
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).catch((err: unknown) => {
      this.#of.log.error(
        { err, alarm: 'policies_unread' },
        'the policies could not be looked at; they stay as they are',
      );
    });
    return this.#turn;
  }

  async #look(): Promise<void> {
    const found = await fingerprint(this.#of.places);
    const rests = found === this.#seen;
    this.#seen = found;
    this.#looks += 1;
    if (rests && (found !== this.#read || this.#looks % READ_EVERY_LOOKS === 0)) await this.#load(found);
  }

  /** Puts in force what is there, unless it changes while it is read: then the next look reads it again. */
  async #load(found: string): Promise<void> {
    const { places } = this.#of;
    const texts = await readPolicyTexts(places).catch((error: unknown) => ({ id: found, error }));
    this.#seen = await fingerprint(places);
    if (this.#seen !== found) return;
    this.#read = found;
    if (texts.id === this.#current.version.id) return this.#keep();
    if (texts.id === this.#rejected?.id) return;
    try {
      if ('error' in texts) throw texts.error;
      this.#swap(await loadVersion(texts, places));
    } catch (error) {
      this.#reject(texts.id, error);
    }
  }

  #swap(version: PolicyVersion): void {
    const before = this.#current;
    this.#current = this.#enforce(version);
    this.#releaseUnused(before);
  }

  #enforce(version: PolicyVersion): InForce {
    const { log } = this.#of;
    const { id, engine, requestSchemas, warnings, people } = version;
    const isCorrection = this.#rejected !== undefined;
    this.#rejected = undefined;
    for (const [name, text] of requestSchemas.texts) {
      this.#schemas.delete(name);
      this.#schemas.set(name, text);
    }
    for (const name of [...this.#schemas.keys()].slice(0, -KEPT_SCHEMAS)) this.#schemas.delete(name);
    for (const warning of warnings) log.warn({ warning: describeProblem(warning) }, 'a policy has something odd');
    const facts = { policyVersion: shortVersion(id), policies: engine.policies.size, people };
    // As loud as the alarm that it ends: who reads the console has been waiting for it.
    if (isCorrection) log.warn(facts, `the corrected policies are in force (version ${facts.policyVersion})`);
    else log.info(facts, 'these policies are in force');
    return { version, since: this.#now(), users: 0 };
  }

  /** The files are again what is in force: an edit was undone. */
  #keep(): void {
    if (!this.#rejected) return;
    this.#rejected = undefined;
    const policyVersion = shortVersion(this.#current.version.id);
    this.#of.log.warn(
      { policyVersion },
      `the policies are as they were: version ${policyVersion}, which has been in force all the time`,
    );
  }

  #reject(id: string, error: unknown): void {
    const { places, log } = this.#of;
    if (this.#rejected?.id === id) return;
    const problems = problemsOf(error, places);
    this.#rejected = { id, since: this.#rejected?.since ?? this.#now() };
    const policyVersion = shortVersion(this.#current.version.id);
    const described = problems?.map(describeProblem);
    log.error(
      { alarm: 'policies_rejected', policyVersion, ...(described ? { problems: described } : { err: error }) },
      `the policies cannot be used, and version ${policyVersion} stays in force: correct the files, they are read again when ` +
        `they change. Try them with \`countersign policy check\`${firstOf(described)}`,
    );
  }

  #releaseUnused(inForce: InForce): void {
    if (inForce !== this.#current && inForce.users === 0) inForce.version.engine.release();
  }
}

/** What the console shows of problems: the log has them all. */
function firstOf([first, ...more]: readonly string[] = []): string {
  if (first === undefined) return '';
  return `. ${first}${more.length > 0 ? ` (and ${more.length} more)` : ''}`;
}
