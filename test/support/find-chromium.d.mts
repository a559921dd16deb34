export declare const HOW_TO_INSTALL: string;
export declare function findChromium(): Promise<string | undefined>;
export declare function obtainChromium(say: (line: string) => void): Promise<string | undefined>;
