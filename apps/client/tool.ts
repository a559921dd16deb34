/** A tool as `tools/list` has it, as far as this library looks. What any MCP client's `listTools` answers fits. */
export interface ListedTool {
  readonly name: string;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  readonly annotations?: unknown;
  /** Only clients that read the answer as it came have the members that follow: the official ones drop them. */
  readonly execution?: unknown;
  readonly preprocessor?: unknown;
}
