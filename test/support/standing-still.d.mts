export function keepNoMoreOpen(): void;
