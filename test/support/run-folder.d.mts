export const RUN_FOLDER: string;
export function makeRunFolder(): string;
export function endRun(folder: string): Promise<void>;
export function endAbandonedRuns(): Promise<void>;
export function processesWith(text: string): number[];
