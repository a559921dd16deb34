import type { Logger } from 'pino';
import type { Cancel, Clock } from '../../../shared/clock.ts';
import { shortVersion, type PolicyEngine, type PolicyVersion } from '../policy-engine.ts';
import { fingerprint, readPolicyTexts, type PolicyPlaces } from './policy-folder.ts';
import { describeProblem } from './problems.ts';
import { loadVersion, problemsOf, type CedarVersion } from './version.ts';

/** The files are read when they have not changed from one check to the next: a deployment writes several, one after the other. */
const CHECK_EVERY_MS = 1_000;
/** Clocks of file systems are coarse, so a check may miss a change. After so many checks the files are read anyway. */
const READ_EVERY_CHECKS = 60;
/** Request schemas that can be fetched, those of earlier versions included. */
const KEPT_SCHEMAS = 256;

interface InForce {
  readonly version: CedarVersion;
  readonly since: Date;
  users: number;
}

/**
 * Decides by the embedded Cedar and a policy folder. One whole version is in force at any time: the last that could be loaded.
 * Follows changes of the files. Throws `ERR_CONFIG_INVALID` if the files cannot be used at the start.
 */
export async function openCedarEngine(
  places: PolicyPlaces,
  { log, clock, checkEveryMs = CHECK_EVERY_MS }: { log: Logger; clock: Clock; checkEveryMs?: number },
): Promise<CedarEngine> {
  const seen = await fingerprint(places);
  const first = await loadVersion(await readPolicyTexts(places), places);
  return new CedarEngine({ places, clock, log, checkEveryMs }, { first, seen });
}

interface Watched {
  readonly places: PolicyPlaces;
  readonly clock: Clock;
  readonly log: Logger;
  readonly checkEveryMs: number;
}

export class CedarEngine implements PolicyEngine {
  readonly canSearch = true;
  readonly #of: Watched;
  readonly #schemas = new Map<string, string>();
  #current: InForce;
  /** Files that cannot be put in force, by their id, so that each state of them is logged once. */
  #rejected: { readonly id: string | undefined; readonly since: Date } | undefined;
  /** Fingerprints: of what was read last, and at the last check. */
  #read: string;
  #seen: string;
  #checks = 0;
  #cancel: Cancel | undefined;
  /** One check or reload after the other. */
  #queue: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(of: Watched, { first, seen }: { first: CedarVersion; seen: string }) {
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

  /** `policies_rejected_since` is absent if the version in force is what the files say. */
  status() {
    const { version, since } = this.#current;
    return {
      policy_version: version.id,
      policies_in_force_since: since.toISOString(),
      ...(this.#rejected && { policies_rejected_since: this.#rejected.since.toISOString() }),
    };
  }

  async reload(): Promise<void> {
    await this.#enqueue(async () => {
      if (this.#rejected) this.#rejected = { ...this.#rejected, id: undefined };
      await this.#load(await fingerprint(this.#of.places));
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#queue;
  }

  #schedule(): void {
    if (this.#closed) return;
    const check = () => void this.#enqueue(() => this.#check()).finally(() => this.#schedule());
    this.#cancel = this.#of.clock.once(this.#of.checkEveryMs, check);
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(work).catch((err: unknown) => {
      this.#of.log.error(
        { err, alarm: 'policies_unread' },
        'the policy files could not be checked; the version in force stays',
      );
    });
    return this.#queue;
  }

  async #check(): Promise<void> {
    const found = await fingerprint(this.#of.places);
    const isStable = found === this.#seen;
    this.#seen = found;
    this.#checks += 1;
    if (isStable && (found !== this.#read || this.#checks % READ_EVERY_CHECKS === 0)) await this.#load(found);
  }

  /** Puts the files in force, unless they change while they are read: then the next check reads them again. */
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

  #swap(version: CedarVersion): void {
    const before = this.#current;
    this.#current = this.#enforce(version);
    this.#releaseUnused(before);
  }

  #enforce(version: CedarVersion): InForce {
    const { log } = this.#of;
    const { id, evaluator, requestSchemas, people } = version;
    const isCorrection = this.#rejected !== undefined;
    this.#rejected = undefined;
    for (const [name, text] of requestSchemas.texts) {
      this.#schemas.delete(name);
      this.#schemas.set(name, text);
    }
    for (const name of [...this.#schemas.keys()].slice(0, -KEPT_SCHEMAS)) this.#schemas.delete(name);
    for (const warning of evaluator.warnings)
      log.warn({ warning: describeProblem(warning) }, 'a policy has a likely mistake');
    const facts = { policyVersion: shortVersion(id), policies: evaluator.policies.size, people };
    // At the level of the alarm that it ends, since operators wait for it.
    if (isCorrection) log.warn(facts, `the corrected policies are in force (version ${facts.policyVersion})`);
    else log.info(facts, 'these policies are in force');
    return { version, since: new Date(this.#of.clock.now()), users: 0 };
  }

  /** An edit was undone: the files are again what is in force. */
  #keep(): void {
    if (!this.#rejected) return;
    this.#rejected = undefined;
    const policyVersion = shortVersion(this.#current.version.id);
    this.#of.log.warn(
      { policyVersion },
      `the policy files are again those of version ${policyVersion}, which has stayed in force`,
    );
  }

  #reject(id: string, error: unknown): void {
    const { places, log, clock } = this.#of;
    if (this.#rejected?.id === id) return;
    const problems = problemsOf(error, places);
    this.#rejected = { id, since: this.#rejected?.since ?? new Date(clock.now()) };
    const policyVersion = shortVersion(this.#current.version.id);
    const described = problems?.map(describeProblem);
    log.error(
      { alarm: 'policies_rejected', policyVersion, ...(described ? { problems: described } : { err: error }) },
      `the policies cannot be used, and version ${policyVersion} stays in force: correct the files, they are read again when ` +
        `they change. Try them with \`countersign policy check\`${firstOf(described)}`,
    );
  }

  #releaseUnused(inForce: InForce): void {
    if (inForce !== this.#current && inForce.users === 0) inForce.version.evaluator.release();
  }
}

/** What the console shows of problems. The log has them all. */
function firstOf([first, ...more]: readonly string[] = []): string {
  if (first === undefined) return '';
  return `. ${first}${more.length > 0 ? ` (and ${more.length} more)` : ''}`;
}
