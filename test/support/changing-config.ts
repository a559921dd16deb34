import type { Config } from '../../apps/shared/config/config.ts';
import { type Follower, followed, type LiveConfig } from '../../apps/shared/config/live.ts';

/** A configuration that a test changes. */
export class ChangingConfig implements LiveConfig {
  readonly config: Config;
  readonly #followers = new Set<Follower>();
  #current: Config;

  constructor(start: Config) {
    this.#current = start;
    this.config = followed(() => this.#current);
  }

  inForce(): Config {
    return this.#current;
  }

  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /** Puts it in force as the product does. Rejects if a part refuses it. */
  async change(next: Config): Promise<void> {
    const prepared = [];
    for (const follower of this.#followers) prepared.push(await follower(next));
    this.#current = next;
    for (const one of prepared) one?.commit();
  }
}
