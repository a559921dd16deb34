import { parentPort } from 'node:worker_threads';
import { compile, type CompiledCheck } from './compile.ts';
import type { Question, Verdict } from './lane.ts';

/**
 * The thread in which a `Lane` compiles schemas and checks values. It says when it is ready, and answers each
 * question once, or is ended meanwhile.
 */
const compiled = new Map<string, CompiledCheck | { readonly reason: string }>();

function answer({ key, schema, of, value, isAnew }: Question): Verdict {
  if (isAnew === true) compiled.clear();
  const known = compiled.get(key) ?? compile(schema ?? null, of);
  compiled.set(key, known);
  if (typeof known !== 'function') return { unusable: known.reason };
  return { problems: value === undefined ? [] : known(value) };
}

parentPort?.on('message', (question: Question) => {
  let verdict: Verdict;
  try {
    verdict = answer(question);
  } catch {
    // Of a schema that refers to itself for ever, the stack ends before the time does.
    verdict = 'exhausted';
  }
  parentPort?.postMessage(verdict);
});

parentPort?.postMessage('ready');
