/** Those who asked to hear of something. */
export function createAudience<T extends readonly unknown[]>() {
  const listeners = new Set<(...what: T) => void>();
  return {
    tell: (...what: T): void => listeners.forEach((listener) => listener(...what)),
    /** Answers how to stop listening. */
    hear: (listener: (...what: T) => void): (() => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
