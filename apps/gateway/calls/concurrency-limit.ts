/** Something that is held open for a subject. */
export interface Slot {
  /** Fires when the gateway stops: what is held open is to end. */
  readonly closing: AbortSignal;
  release(): void;
}

/** How many streams and waiting calls are open in this process at the same time. */
export interface ConcurrencyLimit {
  /** `undefined` when there is no room. */
  acquire(subject: string): Slot | undefined;
  /** Ends every slot, and each that is acquired later. */
  close(): void;
}

export function createConcurrencyLimit({
  perSubject,
  overall,
}: {
  perSubject: number;
  overall: number;
}): ConcurrencyLimit {
  const taken = new Set<{ readonly subject: string; readonly closing: AbortController }>();
  let closed = false;
  return {
    acquire(subject) {
      const own = [...taken].filter((slot) => slot.subject === subject).length;
      if (taken.size >= overall || own >= perSubject) return undefined;
      const slot = { subject, closing: new AbortController() };
      taken.add(slot);
      if (closed) slot.closing.abort();
      return { closing: slot.closing.signal, release: () => void taken.delete(slot) };
    },
    close() {
      closed = true;
      for (const { closing } of taken) closing.abort();
    },
  };
}

/** Calls back when the signal fires, or at once when it has. */
export function onAbort(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
}
