/** The sections of `npm run test:long`, in their order. */
export const SECTIONS: readonly {
  readonly name: string;
  readonly what: string;
  /** The arguments of Node. */
  readonly run: readonly string[];
  /** Each operation is tried, instead of some. */
  readonly atLength?: boolean;
  /** It runs only if it is named. */
  readonly onlyByName?: boolean;
}[];
