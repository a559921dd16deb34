/** Something about a tool, or about what the configuration says of tools, that is not as it should be. */
export interface Finding {
  /** An `error` makes the command fail. */
  readonly severity: 'error' | 'warning';
  readonly rule:
    | 'asks'
    | 'contradiction'
    | 'mapping'
    | 'refused'
    | 'no-such-tool'
    | 'no-tools'
    | 'unknown-requirement'
    | 'namespace';
  /** Name of a tool, an upstream or a requirement. */
  readonly about: string;
  readonly message: string;
}
