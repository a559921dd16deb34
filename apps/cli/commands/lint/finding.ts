/** Something about a tool, or about what the configuration says of tools and approvers, that is not as it should be. */
export interface Finding {
  /** An `error` makes the command fail. */
  readonly severity: 'error' | 'warning';
  readonly rule:
    | 'approvers'
    | 'asks'
    | 'contradiction'
    | 'mapping'
    | 'no-policy'
    | 'policy'
    | 'refused'
    | 'setting'
    | 'no-such-tool'
    | 'no-tools'
    | 'unknown-requirement'
    | 'namespace';
  /** Name of a tool, an upstream, a requirement or a setting. */
  readonly about: string;
  readonly message: string;
}
