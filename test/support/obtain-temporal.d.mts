export declare function temporalTools(): {
  readonly searchPath: string;
  readonly cacheDir: string;
  readonly variables: Readonly<Record<string, string>>;
};
export declare function obtainTemporal(say: (line: string) => void): Promise<string>;
