/** Writes one thing. Settles when it is written, or cannot be. */
export type Write<T> = (item: T) => Promise<void>;

interface Waiting<T> {
  readonly item: T;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface Together {
  /** Statements at work at a time; what comes meanwhile waits, and goes with the next. */
  readonly atWork: number;
  /** Items of one statement. */
  readonly most: number;
  /** Whether the failure of several may be the fault of one of them. */
  readonly isFaultOfOne: (error: unknown) => boolean;
}

/**
 * Writes what comes at the same time in one statement, all of it or nothing. Nobody waits who comes alone, and nobody is spoilt by
 * another's fault: where several fail for one, each is written by itself.
 */
export function together<T>(write: (items: readonly T[]) => Promise<void>, of: Together): Write<T> {
  const waiting: Waiting<T>[] = [];
  let working = 0;

  const each = async (some: readonly Waiting<T>[]) => {
    await Promise.all(some.map(({ item, resolve, reject }) => write([item]).then(resolve, reject)));
  };
  const all = async (some: readonly Waiting<T>[]) => {
    try {
      await write(some.map(({ item }) => item));
      for (const { resolve } of some) resolve();
    } catch (error) {
      if (some.length > 1 && of.isFaultOfOne(error)) await each(some);
      else for (const { reject } of some) reject(error);
    }
  };
  const next = () => {
    if (working >= of.atWork || waiting.length === 0) return;
    working += 1;
    void all(waiting.splice(0, of.most)).finally(() => {
      working -= 1;
      next();
    });
  };
  return (item) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      next();
    });
}
