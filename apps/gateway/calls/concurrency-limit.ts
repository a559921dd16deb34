/** Something that is held open for a subject. */
export interface Place {
  /** Fires when the gateway stops: what is held open is to end. */
  readonly closing: AbortSignal;
  leave(): void;
}

/** Streams, and calls that wait: so many at the same moment in this process. */
export interface Places {
  /** `undefined` when there is no room. */
  take(subject: string): Place | undefined;
  /** Has every place end, and each that is taken later. */
  close(): void;
}

export function createPlaces({ perSubject, overall }: { perSubject: number; overall: number }): Places {
  const taken = new Set<{ readonly subject: string; readonly closing: AbortController }>();
  let closed = false;
  return {
    take(subject) {
      const own = [...taken].filter((place) => place.subject === subject).length;
      if (taken.size >= overall || own >= perSubject) return undefined;
      const place = { subject, closing: new AbortController() };
      taken.add(place);
      if (closed) place.closing.abort();
      return { closing: place.closing.signal, leave: () => void taken.delete(place) };
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
