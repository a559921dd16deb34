// `node --import ./test/support/typescript.mjs file.ts` runs a TypeScript file in a separate process, for tests that
// have to kill one.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
