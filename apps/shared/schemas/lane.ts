import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import type { Clock } from '../clock.ts';
import type { SchemaOf } from './compile.ts';

/** What the thread is asked: to compile a schema, and to check a value if there is one. */
export interface Question {
  /** Equal for equal schemas with the same purpose. */
  readonly key: string;
  readonly of: SchemaOf;
  /** Present where the thread does not have it yet. */
  readonly schema?: Json;
  readonly value?: Json;
  /** The thread forgets every schema before this one. */
  readonly isAnew?: true;
}

/** `exhausted`: the stack of the thread was too small. */
export type Verdict = { readonly problems: readonly string[] } | { readonly unusable: string } | 'exhausted';

interface Job {
  readonly question: Required<Pick<Question, 'key' | 'of' | 'schema'>> & Pick<Question, 'value'>;
  readonly limits: { readonly startMs: number; readonly compileMs: number; readonly checkMs: number };
  readonly settle: (answer: LaneAnswer) => void;
}

export interface LaneAnswer {
  /** `undefined`: there was none in time, or no thread. */
  readonly verdict: Verdict | undefined;
  /** How long the thread worked on it, in milliseconds. */
  readonly tookMs: number;
}

const HERE = fileURLToPath(import.meta.url);
const THREAD = new URL(`./thread${extname(HERE)}`, import.meta.url);
/** Compiled schemas in a thread. A tool that often changes its description empties them, and does not make them grow. */
const MAX_COMPILED = 2_000;
/** Questions that wait. Each of them may take its whole time. */
const MAX_WAITING = 200;
/** A schema can make a check use memory without end: then the thread ends, and not the process. */
const RESOURCES = { maxOldGenerationSizeMb: 256 };

/**
 * A thread for schemas that come from others. It takes one question after another, each within its time, and is ended when a question
 * takes longer: no timer of ours fires in a thread that works, and `vm` aborts the process where no file can be opened. The thread
 * keeps the process running only while there are questions.
 */
export class Lane {
  #thread: Worker | undefined;
  /** Whether the thread has loaded our code. Its start is no fault of the schema that waits for it. */
  #isReady = false;
  readonly #compiled = new Set<string>();
  readonly #waiting: Job[] = [];
  #running: Job | undefined;

  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Never rejects. */
  ask(question: Job['question'], limits: Job['limits']): Promise<LaneAnswer> {
    return new Promise((settle) => {
      if (this.#waiting.length >= MAX_WAITING) return settle({ verdict: undefined, tookMs: 0 });
      this.#waiting.push({ question, limits, settle });
      if (this.#running === undefined) this.#next();
    });
  }

  #next(): void {
    const job = this.#waiting.shift();
    this.#running = job;
    if (job === undefined) return this.#thread?.unref();
    const { question, limits } = job;
    const { schema, ...others } = question;
    let began = this.#clock.monotonicMs();
    const thread = (this.#thread ??= this.#start());
    thread.ref();
    const isKnown = this.#compiled.has(question.key);
    const isAnew = !isKnown && this.#compiled.size >= MAX_COMPILED;
    if (isAnew) this.#compiled.clear();
    this.#compiled.add(question.key);
    const settled = (verdict: Verdict | undefined) => {
      stop();
      thread.off('message', heard);
      thread.off('exit', ended);
      if (verdict === undefined) this.#end(thread);
      job.settle({ verdict, tookMs: this.#clock.monotonicMs() - began });
      this.#next();
    };
    const ended = () => settled(undefined);
    // An answer that has arrived by now is read before this: the process may have stood still.
    const late = () => setImmediate(() => this.#running === job && settled(undefined));
    const allowedMs = limits.checkMs + (isKnown ? 0 : limits.compileMs);
    let stop = this.#clock.once(this.#isReady ? allowedMs : limits.startMs, late);
    const heard = (message: Verdict | 'ready') => {
      if (message !== 'ready') return settled(message);
      stop();
      this.#isReady = true;
      began = this.#clock.monotonicMs();
      stop = this.#clock.once(allowedMs, late);
    };
    thread.on('message', heard);
    thread.on('exit', ended);
    thread.postMessage({ ...others, ...(!isKnown && { schema }), ...(isAnew && { isAnew }) } satisfies Question);
  }

  #start(): Worker {
    this.#compiled.clear();
    this.#isReady = false;
    const thread = new Worker(THREAD, { resourceLimits: RESOURCES });
    // It ends then, which is noticed. Without a listener, the error would end the process.
    thread.on('error', () => undefined);
    return thread;
  }

  #end(thread: Worker): void {
    if (this.#thread === thread) this.#thread = undefined;
    thread.terminate().catch(() => undefined);
  }
}
