import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8 from inlining calls into WebAssembly, for the whole process. Node 20 aborts with "unreachable code" when an
 * optimized function is thrown away while a WebAssembly call that was inlined into it runs and returns an object, as
 * Cedar's do. It has to be called before such functions get hot; nothing else can catch it.
 */
export function keepWasmCallsOutOfLine(): void {
  setFlagsFromString('--no-turbo-inline-js-wasm-calls');
}
