/** A part that has started. `stop` finishes what is in flight, frees everything, and may be called once. */
export interface Running {
  readonly name: string;
  stop(): Promise<void>;
}
