/** Counts the work that needs a connection to its end, so that the connection closes after the last of it. */
export class Users {
  #count = 0;
  #onNone: (() => void) | undefined;

  /** Whether work needs the connection now. */
  get areThere(): boolean {
    return this.#count > 0;
  }

  /** Does the work, and counts it until it has ended. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#count -= 1;
      if (this.#count === 0) this.dismiss();
    }
  }

  /** Resolves when no work needs the connection any more, or when `dismiss` is called. */
  async haveLeft(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => (this.#onNone = resolve));
  }

  /** Has nothing wait for the work that is left. */
  dismiss(): void {
    this.#onNone?.();
  }
}
