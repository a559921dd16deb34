/** Runs that are remembered; older ones do not count. */
const REMEMBERED = 1_000;

/** How long something took, over its last runs. */
export interface Latency {
  /** All that were ever made. */
  readonly runs: number;
  readonly failures: number;
  /** Milliseconds. Zero before the first run. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Measures runs, failed ones too: whoever waited, waited. */
export class LatencyMeter {
  readonly #durations: number[] = [];
  #runs = 0;
  #failures = 0;

  note(durationMs: number, isFailure: boolean): void {
    this.#durations.push(durationMs);
    if (this.#durations.length > REMEMBERED) this.#durations.shift();
    this.#runs += 1;
    if (isFailure) this.#failures += 1;
  }

  read(): Latency {
    const sorted = this.#durations.toSorted((a, b) => a - b);
    // The nearest rank: a duration that was measured, none between two.
    const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
    return { runs: this.#runs, failures: this.#failures, p50Ms: at(0.5), p99Ms: at(0.99) };
  }
}
