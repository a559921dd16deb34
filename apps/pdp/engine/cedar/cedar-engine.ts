import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Clock } from '../../../shared/clock.ts';
import type { Prepared } from '../../../shared/config/live.ts';
import { WatchedFiles } from '../../../shared/watched-files.ts';
import { CountersignError } from '../../../../workflows/domain/errors.ts';
import { shortVersion, type PolicyEngine, type PolicyVersion } from '../policy-engine.ts';
import { fingerprint, readPolicyTexts, type PolicyPlaces, type PolicyTexts } from './policy-folder.ts';
import { describeProblem } from './problems.ts';
import { loadCurrent, loadVersion, problemsOf, type CedarVersion } from './version.ts';

/** Clocks of file systems are coarse, so a look may miss a change. After so many looks the files are read anyway. */
const READ_EVERY_LOOKS = 60;
/** Request schemas that can be fetched, those of earlier versions included. */
const KEPT_SCHEMAS = 256;

interface InForce {
  readonly version: CedarVersion;
  readonly since: Date;
  users: number;
}

/** What was found at these places. */
type Found = { readonly places: PolicyPlaces } & (PolicyTexts | { readonly id: string; readonly error: unknown });

/**
 * Decides by the embedded Cedar and a policy folder. One whole version is in force at any time: the last that could be loaded.
 * Follows changes of the files. Throws `ERR_CONFIG_INVALID` if the files cannot be used at the start.
 */
export async function openCedarEngine(
  places: PolicyPlaces,
  { log, clock, checkEveryMs }: { log: Logger; clock: Clock; checkEveryMs?: number },
): Promise<CedarEngine> {
  const seen = await fingerprint(places);
  const first = await loadVersion(await readPolicyTexts(places), places, clock);
  return new CedarEngine({ places, clock, log, checkEveryMs }, { first, seen });
}

interface Watched {
  readonly places: PolicyPlaces;
  readonly clock: Clock;
  readonly log: Logger;
  readonly checkEveryMs: number | undefined;
}

export class CedarEngine implements PolicyEngine {
  readonly canSearch = true;
  readonly #of: Watched;
  readonly #files: WatchedFiles<Found>;
  readonly #schemas = new Map<string, string>();
  #places: PolicyPlaces;
  #current: InForce;
  /** Files that cannot be put in force, by their id, so that each state of them is logged once. */
  #rejected: { readonly id: string | undefined; readonly since: Date } | undefined;

  constructor(of: Watched, { first, seen }: { first: CedarVersion; seen: string }) {
    this.#of = of;
    this.#places = of.places;
    this.#current = this.#enforce(first);
    const watched = {
      fingerprint: () => fingerprint(this.#places),
      read: () => this.#read(),
      use: (found: Found) => this.#use(found),
      onFault: (err: unknown) =>
        of.log.error(
          { err, alarm: 'policies_unread' },
          'the policy files could not be checked; the version in force stays',
        ),
    };
    const rhythm = { clock: of.clock, lookEveryMs: of.checkEveryMs, readEveryLooks: READ_EVERY_LOOKS };
    this.#files = new WatchedFiles({ ...watched, ...rhythm }, seen);
    this.#files.start();
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
    if (this.#rejected) this.#rejected = { ...this.#rejected, id: undefined };
    await this.#files.readNow();
  }

  close(): Promise<void> {
    return this.#files.close();
  }

  /**
   * Loads the version of other places, which `commit` puts in force. Throws `ERR_CONFIG_INVALID` with one line for each problem if it
   * cannot be used.
   */
  async prepare(places: PolicyPlaces): Promise<Prepared> {
    if (isDeepStrictEqual(places, this.#places)) return { commit: () => undefined };
    const version = await this.#files.between(() => loadAt(places, this.#of.clock));
    return {
      commit: () => {
        this.#places = places;
        // The files may have changed since they were read here.
        this.#files.forget();
        const { id, templates } = this.#current.version;
        if (version.id !== id || !isDeepStrictEqual(version.templates, templates)) return this.#swap(version);
        version.evaluator.release();
        this.#keep();
      },
      discard: () => version.evaluator.release(),
    };
  }

  async #read(): Promise<Found> {
    const places = this.#places;
    try {
      return { places, ...(await readPolicyTexts(places)) };
    } catch (error) {
      return { places, id: await fingerprint(places), error };
    }
  }

  async #use({ places, ...texts }: Found): Promise<void> {
    if (places !== this.#places) return;
    if (texts.id === this.#current.version.id) return this.#keep();
    if (texts.id === this.#rejected?.id) return;
    try {
      if ('error' in texts) throw texts.error;
      const version = await loadVersion(texts, places, this.#of.clock);
      // Other places came into force meanwhile, and the next look reads their files.
      if (places === this.#places) this.#swap(version);
      else version.evaluator.release();
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
    const { log, clock } = this.#of;
    if (this.#rejected?.id === id) return;
    const problems = problemsOf(error, this.#places);
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

async function loadAt(places: PolicyPlaces, clock: Clock): Promise<CedarVersion> {
  try {
    return await loadCurrent(places, clock);
  } catch (error) {
    const described = problemsOf(error, places)?.map(describeProblem);
    if (described === undefined) throw error;
    throw new CountersignError('ERR_CONFIG_INVALID', described.join('\n'), { cause: error });
  }
}
