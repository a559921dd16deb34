import { stat } from 'node:fs/promises';
import type { Cancel, Clock } from './clock.ts';
import { errorCode } from './lifecycle.ts';

/** The files are read when they have not changed from one look to the next: a deployment writes several, one after the other. */
const LOOK_EVERY_MS = 1_000;

export interface Watched<Contents> {
  /** Differs after every change of the files. Never rejects. */
  readonly fingerprint: () => Promise<string>;
  /** Reads the files. Never rejects: files that cannot be read are contents like others. */
  readonly read: () => Promise<Contents>;
  /** Gets contents that did not change while they were read. */
  readonly use: (contents: Contents) => Promise<void>;
  /** Clocks of file systems are coarse, so a look may miss a change. After so many looks the files are read anyway. */
  readonly readEveryLooks: number;
  /** Gets the error of a look. Looks go on. */
  readonly onFault: (error: unknown) => void;
  readonly clock: Clock;
  /** Default: a second. */
  readonly lookEveryMs?: number | undefined;
}

/**
 * Looks at files once a second, since notices of file systems miss renames, links and networks. Has them read when they have come to
 * rest, and once more if they changed during the read.
 */
export class WatchedFiles<Contents> {
  readonly #of: Watched<Contents>;
  /** Fingerprints: of what was read last, and at the last look. */
  #read: string;
  #seen: string;
  #looks = 0;
  #cancel: Cancel | undefined;
  /** One look or reload after the other. */
  #queue: Promise<void> = Promise.resolve();
  #closed = false;

  /** `seen`: the fingerprint before the files were read that are in use now. */
  constructor(of: Watched<Contents>, seen: string) {
    this.#of = of;
    this.#read = this.#seen = seen;
  }

  start(): void {
    if (this.#closed) return;
    const look = () => void this.#alone(() => this.#look()).finally(() => this.start());
    this.#cancel = this.#of.clock.once(this.#of.lookEveryMs ?? LOOK_EVERY_MS, look);
  }

  /** Has the files read and used now, unless they change meanwhile: then a look has them read. */
  readNow(): Promise<void> {
    return this.#alone(async () => this.#load(await this.#of.fingerprint()));
  }

  /** Has the files read again as soon as they rest, whether or not they have changed. */
  forget(): void {
    this.#read = '';
  }

  /** Does work between two looks. Rejects as the work does. */
  between<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#queue;
  }

  #alone(work: () => Promise<void>): Promise<void> {
    return this.between(work).catch((error: unknown) => this.#of.onFault(error));
  }

  async #look(): Promise<void> {
    const found = await this.#of.fingerprint();
    const isStable = found === this.#seen;
    this.#seen = found;
    this.#looks += 1;
    const isDue = this.#looks % this.#of.readEveryLooks === 0;
    if (isStable && (found !== this.#read || isDue)) await this.#load(found);
  }

  async #load(found: string): Promise<void> {
    const contents = await this.#of.read();
    this.#seen = await this.#of.fingerprint();
    if (this.#seen !== found) return;
    this.#read = found;
    await this.#of.use(contents);
  }
}

/**
 * Differs if the file was written, replaced, added or removed in any way. Follows links: a deployment may swap what they name. Never
 * rejects: a file that cannot be read is in a state like any other.
 */
export async function stateOfFile(path: string): Promise<string> {
  try {
    const { mtimeNs, ctimeNs, size, ino } = await stat(path, { bigint: true });
    return `${path} ${mtimeNs} ${ctimeNs} ${size} ${ino}`;
  } catch (error) {
    return `${path} ${String(errorCode(error))}`;
  }
}
