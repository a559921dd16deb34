export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>;

/** Limits the streams and waiting calls that are open in this process at the same time. */
export function createConcurrencyLimit({ perSubject, overall }: { perSubject: number; overall: number }) {
  const taken = new Set<{ readonly subject: string; readonly closing: AbortController }>();
  let closed = false;
  return {
    /** A slot, whose `closing` fires when the gateway stops. `undefined` if there is no room. */
    acquire(subject: string) {
      const own = [...taken].filter((slot) => slot.subject === subject).length;
      if (taken.size >= overall || own >= perSubject) return undefined;
      const slot = { subject, closing: new AbortController() };
      taken.add(slot);
      if (closed) slot.closing.abort();
      return { closing: slot.closing.signal, release: () => void taken.delete(slot) };
    },
    /** Ends every slot, also those that are acquired later. */
    close() {
      closed = true;
      for (const { closing } of taken) closing.abort();
    },
  };
}
