/** What the operator chose of the form of answers. */
export interface Rendering {
  /** What a client is told to wait between two looks at a task. */
  readonly pollIntervalMs: number;
  /** Whether denials carry an authorization envelope. */
  readonly structuredDenials: boolean;
  /** Whether the approval extension goes by its first name as well. */
  readonly approvalAlias: boolean;
  /** Whether there are plain tools to ask for an approval and to look after it. */
  readonly requestTools: boolean;
  readonly coaz: {
    /** Whether a denial of a tool call is a result of the tool, or the error that COAZ has for denials of any request. */
    readonly denials: 'result' | 'error';
  };
}
