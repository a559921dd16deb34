import { parseArgs } from 'node:util';
import { runPixels, type PixelFigures } from './run-pixels.ts';

const HELP = `Draws pairs of calls that differ, as approvers see them, in a real Chromium in three views, at three widths and in both themes, and
compares the pixels of the arguments. No two may look the same. Exit code 1 when two do, or when one call is not drawn the same twice.

  npm run test:pixels                        5,000 pairs
  npm run test:pixels -- --pairs 200         this many
  npm run test:pixels -- --seed monday       those of this seed; without it the seed is chosen, and printed
  npm run test:pixels -- --json              figures as JSON on stdout
`;

const {
  values: { pairs, seed, json, help },
} = parseArgs({
  options: {
    pairs: { type: 'string', default: '5000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
const say = (line: string) => process.stderr.write(`${line}\n`);

function words({ kinds, alike, unsteady, ...figures }: PixelFigures): string {
  const counts = Object.entries(kinds).toSorted(([, one], [, other]) => other - one);
  return [
    `${figures.pairs} pairs, ${figures.drawings} drawings in ${figures.seconds.toFixed(0)} s, seed ${figures.seed}`,
    ...counts.map(([kind, count]) => `  ${kind}: ${count}`),
    `drawn differently the second time: ${unsteady}`,
    `alike without a mark: ${alike.length}`,
    ...alike
      .slice(0, 20)
      .map(
        ({ kind, view, width, theme, left, right }) =>
          `  ${kind}, ${view}, ${width} px, ${theme}:\n    ${left}\n    ${right}`,
      ),
    '',
  ].join('\n');
}

const wanted = Number(pairs);
if (help === true) process.stdout.write(HELP);
else if (!Number.isSafeInteger(wanted) || wanted < 1) {
  say(`--pairs is "${pairs}": give a whole number from 1, for example --pairs 200.`);
  process.exitCode = 1;
} else {
  const began = performance.now();
  const onProgress = (drawn: number, alike: number) =>
    say(`${drawn} pairs of ${wanted}, ${alike} times alike, ${Math.round((performance.now() - began) / 1_000)} s`);
  const figures = await runPixels({ pairs: wanted, seed, onProgress });
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : words(figures));
  if (figures.alike.length > 0 || figures.unsteady > 0) process.exitCode = 1;
}
