import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { ZodError } from 'zod';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { Clock } from '../clock.ts';
import { sha256 } from '../crypto.ts';
import { errorCode } from '../lifecycle.ts';
import { stateOfFile, WatchedFiles } from '../watched-files.ts';
import { type Config, parseConfig } from './config.ts';
import {
  changedSettings,
  differences,
  followed,
  type Follower,
  type LiveConfig,
  type Prepared,
  withLiveSettings,
} from './live.ts';
import { invalidFile, type LoadedConfig } from './load.ts';
import { problemsOf } from './problems.ts';
import { readTextSync } from '../text-file.ts';

/** A file that was refused only because of something beside it is tried again after so many looks. */
const READ_EVERY_LOOKS = 10;

/** What operators see of the configuration of a process. Instants are ISO 8601. */
export interface ConfigState {
  /** The file whose settings are in force. */
  readonly file: string;
  readonly inForceSince: string;
  /** Absent if what the file says is in force, or will be at the next start. */
  readonly rejected?: { readonly since: string; readonly problems: string[] };
  /** Settings that differ from the file until the next start. */
  readonly pending: string[];
}

export interface WatchedConfig extends LiveConfig {
  /** Begins to look at the file. Call it when all parts follow. */
  start(): void;
  /** Reads the file now, whether or not it seems to have changed. Reports problems in the log. */
  reload(): Promise<void>;
  state(): ConfigState;
  close(): Promise<void>;
}

interface WatchDeps {
  /** Reads and checks the file, as at the start. Throws `ERR_CONFIG_INVALID` with one line for each problem. */
  readonly load: () => LoadedConfig;
  /** The file to follow, where another one takes the place of the example. Default: the one of the start. */
  readonly fileNow?: () => string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Gets a line when a change is in force that corrects nothing. The console shows the others from the log. */
  readonly say?: (line: string) => void;
  /** Called after each change of the state. */
  readonly onState?: (state: ConfigState) => void;
}

type Read = LoadedConfig | { readonly id: string; readonly error: unknown };

/**
 * Follows the configuration file. A change of live settings is in force as a whole or not at all: the whole file is checked as at the
 * start, every follower prepares for it, and then all commit without a wait in between.
 */
export function watchConfig(loaded: LoadedConfig, deps: WatchDeps): WatchedConfig {
  return new ConfigWatch(loaded, deps);
}

class ConfigWatch implements WatchedConfig {
  readonly config: Config;
  readonly #start: LoadedConfig;
  readonly #deps: WatchDeps;
  readonly #followers = new Set<Follower>();
  readonly #files: WatchedFiles<Read>;
  #current: Config;
  #currentId: string;
  /** The file of what is in force. */
  #file: string;
  #since: string;
  #rejected: { readonly id: string; readonly since: string; readonly problems: string[] } | undefined;
  #pending: string[] = [];

  constructor(loaded: LoadedConfig, deps: WatchDeps) {
    this.#start = loaded;
    this.#deps = deps;
    this.#current = loaded.config;
    this.#currentId = loaded.id;
    this.#file = loaded.file;
    this.#since = this.#now();
    this.config = followed(() => this.#current);
    const { clock, log } = deps;
    const onFault = (err: unknown) =>
      log.error(
        { err, alarm: 'configuration_unread' },
        'a change of the configuration failed; if this comes again, restart the process',
      );
    const fingerprint = () => stateOfFile(this.#fileNow());
    const read = () => Promise.resolve(this.#read());
    const use = (found: Read) => this.#use(found);
    this.#files = new WatchedFiles({ fingerprint, read, use, onFault, clock, readEveryLooks: READ_EVERY_LOOKS }, '');
  }

  inForce(): Config {
    return this.#current;
  }

  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  start(): void {
    this.#files.start();
  }

  async reload(): Promise<void> {
    if (this.#rejected) this.#rejected = { ...this.#rejected, id: '', problems: [] };
    await this.#files.readNow();
  }

  state(): ConfigState {
    const { since, problems } = this.#rejected ?? {};
    return {
      file: this.#file,
      inForceSince: this.#since,
      ...(since !== undefined && problems !== undefined && { rejected: { since, problems } }),
      pending: this.#pending,
    };
  }

  close(): Promise<void> {
    return this.#files.close();
  }

  #now(): string {
    return new Date(this.#deps.clock.now()).toISOString();
  }

  #fileNow(): string {
    return this.#deps.fileNow?.() ?? this.#start.file;
  }

  #read(): Read {
    const file = this.#fileNow();
    try {
      if (!existsSync(file)) throw new CountersignError('ERR_CONFIG_INVALID', `there is no file ${file}; put it back`);
      return this.#deps.load();
    } catch (error) {
      return { id: digestOf(file), error };
    }
  }

  async #use(found: Read): Promise<void> {
    if (found.id === this.#currentId) return this.#keep();
    const { id } = found;
    try {
      if ('error' in found) throw found.error;
      const next = this.#applicable(found);
      const changed = changedSettings(this.#current, next);
      if (!isDeepStrictEqual(next, this.#current)) await this.#apply(next);
      this.#currentId = id;
      const news = found.file === this.#file ? undefined : `${found.file} takes the place of the example`;
      this.#file = found.file;
      this.#accepted(changed, news);
      this.#warnOfPending(differences(next, found.config));
    } catch (error) {
      this.#reject(id, error);
    }
  }

  /**
   * The settings of the start with the live ones of the file. They are checked together, since they may not fit each other. Relative paths
   * start at the folder of the file: the example, in whose place another file may be, has none among its other settings.
   */
  #applicable(found: LoadedConfig): Config {
    const raw = withLiveSettings(this.#start.raw, found.raw);
    const { stateDir } = this.#start.config;
    try {
      return parseConfig(raw, { baseDir: found.config.baseDir, stateDir });
    } catch (error) {
      if (!(error instanceof ZodError)) throw error;
      const problems = problemsOf(error).map(({ path, message }) => ({
        path,
        message: `${message} (with the settings that apply at the next start only: restart, or undo those)`,
      }));
      throw invalidFile(basename(found.file), problems, found.lineOf);
    }
  }

  async #apply(next: Config): Promise<void> {
    const prepared: Prepared[] = [];
    try {
      // A follower that joins meanwhile prepares as well.
      for (const follower of this.#followers) {
        const own = await follower(next);
        if (own !== undefined) prepared.push(own);
      }
    } catch (error) {
      for (const one of prepared) one.discard?.();
      throw error;
    }
    this.#current = next;
    this.#since = this.#now();
    const failures: unknown[] = [];
    for (const one of prepared) {
      try {
        one.commit();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length === 0) return;
    const err = new AggregateError(failures);
    this.#deps.log.error({ err, alarm: 'configuration_half_applied' }, 'a part did not take the change; restart');
  }

  /** An edit was undone: the file is again what is in force. */
  #keep(): void {
    if (this.#rejected) this.#accepted([]);
  }

  #accepted(changed: readonly string[], news?: string): void {
    const { log, say, onState } = this.#deps;
    const name = basename(this.#file);
    const what = changed.length === 0 ? 'no live setting differs' : `now in force: ${changed.join(', ')}`;
    // At the level of the alarm that it ends, since operators wait for it.
    if (this.#rejected) log.warn({ settings: changed }, `${name} can be used again; ${what}`);
    else {
      const line = `${news ?? `${name} has changed`}; ${what}`;
      log.info({ settings: changed }, line);
      say?.(line);
    }
    this.#rejected = undefined;
    onState?.(this.state());
  }

  #warnOfPending(pending: string[]): void {
    const isNews = !isDeepStrictEqual(pending, this.#pending);
    this.#pending = pending;
    if (!isNews) return;
    if (pending.length > 0) {
      const advice = `these settings apply at the next start: ${pending.join(', ')}`;
      this.#deps.log.warn({ settings: pending }, advice);
    }
    this.#deps.onState?.(this.state());
  }

  #reject(id: string, error: unknown): void {
    const problems = messageOf(error).split('\n');
    const isKnown = isDeepStrictEqual(problems, this.#rejected?.problems) && this.#rejected?.id === id;
    if (isKnown) return;
    this.#rejected = { id, since: this.#rejected?.since ?? this.#now(), problems };
    const { log, onState } = this.#deps;
    const found = error instanceof CountersignError ? { problems } : { err: error };
    log.error(
      { alarm: 'configuration_rejected', ...found },
      `${basename(this.#fileNow())} cannot be used, and nothing of it is applied: correct it, it is read again when it changes`,
    );
    for (const problem of problems) log.error(problem);
    onState?.(this.state());
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const digestOf = (file: string): string => {
  try {
    return sha256(readTextSync(file));
  } catch (error) {
    return String(errorCode(error));
  }
};
