/** One measured figure; `target` and `met` where it has a target. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly target?: string;
  readonly met?: boolean;
  readonly detail: string;
}

/** Prints the figures as a table, or as JSON. */
export function printReport(figures: readonly Figure[], { json }: { json: boolean }): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
    return;
  }
  const width = Math.max(...figures.map(({ name }) => name.length));
  for (const { name, value, unit, target, met, detail } of figures) {
    const aim = target === undefined ? '' : `  [target ${target}: ${met ? 'reached' : 'MISSED'}]`;
    process.stdout.write(`${name.padEnd(width)}  ${value.toFixed(2).padStart(8)} ${unit}${aim}\n`);
    process.stdout.write(`${' '.repeat(width)}           ${detail}\n`);
  }
}
