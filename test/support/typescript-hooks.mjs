import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';

const OPTIONS = {
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', tsx: true },
    // `development` makes each element carry its place in the sources, by which tests identify controls.
    transform: { react: { runtime: 'automatic', importSource: 'preact', development: true } },
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};
const JEST_GLOBALS = new URL('./jest/globals.mjs', import.meta.url).href;

/** Node's resolve hook: jest refuses to be imported by Node, so this hook provides its globals. */
export function resolve(specifier, context, nextResolve) {
  return specifier === '@jest/globals' ? { url: JEST_GLOBALS, shortCircuit: true } : nextResolve(specifier, context);
}

/** Node's load hook: TypeScript becomes JavaScript, other files load as usual. */
export async function load(url, context, nextLoad) {
  if (!/[.]tsx?([?]|$)/.test(url)) return nextLoad(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, 'utf8'), { ...OPTIONS, filename });
  return { format: 'module', source: code, shortCircuit: true };
}
