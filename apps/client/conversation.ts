import { systemClock } from '../shared/clock.ts';
import { type ListedTool, PREPROCESSOR_META } from './answer.ts';

/** The part of a server that this library uses. Any MCP client can provide it with one line for each method. */
export interface ToolServer<Tool extends ListedTool> {
  listTools(): Promise<readonly Tool[]>;
  /** Rejects, or returns `isError`, if the tool fails. */
  callTool(call: { name: string; arguments: Record<string, unknown> }, signal: AbortSignal): Promise<unknown>;
}

/** The output of a preprocessor for one prompt. */
export interface PreprocessorOutput {
  readonly tool: string;
  /** The unchanged blocks of its result. */
  readonly content: readonly unknown[];
}

export interface Message {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

/** The complete input of the model for one prompt. */
export interface ModelRequest<Tool> {
  /** Prompts and answers of earlier turns, without the output of preprocessors. */
  readonly history: readonly Message[];
  /** For this request only, in the order in which the server lists the tools. */
  readonly context: readonly PreprocessorOutput[];
  readonly prompt: string;
  /** The tools that the model may call. Preprocessors are excluded. */
  readonly tools: readonly Tool[];
}

export interface ConversationOptions<Tool extends ListedTool> {
  /** The arguments of a preprocessor for a prompt. */
  readonly argumentsFor: (tool: Tool, prompt: string) => Record<string, unknown>;
  /** Time limit for one preprocessor. Default: 2 seconds, so that no prompt waits longer. */
  readonly timeoutMs?: number;
}

export const isPreprocessor = ({ preprocessor, _meta }: ListedTool): boolean =>
  preprocessor === true || _meta?.[PREPROCESSOR_META] === true;

/**
 * A conversation in which the preprocessors of the server run before each prompt reaches the model. Their output is part of that one
 * request and not of the history. The model cannot call them. A preprocessor that fails, takes too long or answers with a task adds
 * nothing, and the prompt goes on without it.
 * @see preprocessor tools (PRE-002 to PRE-005)
 */
export class Conversation<Tool extends ListedTool> {
  readonly #server: ToolServer<Tool>;
  readonly #options: ConversationOptions<Tool>;
  readonly #meters = new Map<string, LatencyMeter>();
  readonly #history: Message[] = [];

  constructor(server: ToolServer<Tool>, options: ConversationOptions<Tool>) {
    this.#server = server;
    this.#options = options;
  }

  /** Runs one prompt and returns the answer. If the model fails, the history stays unchanged. */
  async turn(prompt: string, model: (request: ModelRequest<Tool>) => Promise<string>): Promise<string> {
    const listed = await this.#server.listTools();
    // They run at the same time, because none may have an effect on another. The outputs keep the order of the list.
    const outputs = await Promise.all(listed.filter(isPreprocessor).map((tool) => this.#run(tool, prompt)));
    const answer = await model({
      history: [...this.#history],
      context: outputs.filter((one) => one !== undefined),
      prompt,
      tools: listed.filter((tool) => !isPreprocessor(tool)),
    });
    this.#history.push({ role: 'user', text: prompt }, { role: 'assistant', text: answer });
    return answer;
  }

  /** How long each preprocessor delays prompts, by its name. */
  latency(): ReadonlyMap<string, Latency> {
    return new Map([...this.#meters].map(([tool, meter]) => [tool, meter.read()]));
  }

  async #run(tool: Tool, prompt: string): Promise<PreprocessorOutput | undefined> {
    const began = systemClock.monotonicMs();
    const content = await this.#contentOf(tool, prompt).catch(() => undefined);
    const meter = this.#meters.get(tool.name) ?? new LatencyMeter();
    this.#meters.set(tool.name, meter);
    meter.note(systemClock.monotonicMs() - began, content === undefined);
    return content && { tool: tool.name, content };
  }

  async #contentOf(tool: Tool, prompt: string): Promise<readonly unknown[] | undefined> {
    const { argumentsFor, timeoutMs = 2_000 } = this.#options;
    const signal = systemClock.signalAfter(timeoutMs);
    const call = this.#server.callTool({ name: tool.name, arguments: argumentsFor(tool, prompt) }, signal);
    // A client that ignores the signal must not delay the prompt either.
    const late = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(new Error('too late'))),
    );
    const result = (await Promise.race([call, late])) as { content?: unknown; isError?: unknown; resultType?: unknown };
    const isResult = Array.isArray(result.content) && result.isError !== true && result.resultType !== 'task';
    return isResult ? (result.content as unknown[]) : undefined;
  }
}

/** An input request of a server to the user, the model or the client. Answers and tasks have the same form. */
export interface Question {
  readonly method: string;
  readonly params?: unknown;
}

/** Input requests, by the keys that the server chose. */
export type Questions = Readonly<Record<string, Question>>;

/** Answers one question. It does not learn of a task or an approval behind the question, so it does not trust it more (TASK-041). */
export type Answerer = (question: Question) => Promise<unknown>;

/**
 * Answers the questions one after the other. Returns the answers by key, as `tasks/update` takes them.
 *
 * @param answered Keys with an answer. Their questions are skipped, and new keys are added. A task can repeat a question until it has
 *   the answer.
 */
export async function answersTo(
  questions: Questions,
  answer: Answerer,
  answered: Set<string> = new Set(),
): Promise<Record<string, unknown>> {
  const answers: [key: string, answer: unknown][] = [];
  for (const [key, question] of Object.entries(questions)) {
    if (answered.has(key)) continue;
    answers.push([key, await answer(question)]);
    answered.add(key);
  }
  // The server chooses the keys: `fromEntries` also keeps `__proto__`.
  return Object.fromEntries(answers);
}

/** An answer that requests input first. */
export interface Asking {
  readonly inputRequests?: Questions | undefined;
  readonly requestState?: string | undefined;
}

/**
 * The parameters for the repeated request: its own, the answers, and the unchanged state of the server. Answers and state of an earlier
 * repetition are dropped. The request needs a new id, which clients choose by themselves.
 * @see SEP-2322, Client requirements (MRTR-015 to MRTR-018)
 */
export async function repetitionOf<Params extends object>(
  params: Params,
  { inputRequests, requestState }: Asking,
  answer: Answerer,
): Promise<Omit<Params, 'inputResponses' | 'requestState'>> {
  const { inputResponses: _before, requestState: _old, ...own } = params as Params & Record<string, unknown>;
  return {
    ...(own as Omit<Params, 'inputResponses' | 'requestState'>),
    ...(inputRequests !== undefined && { inputResponses: await answersTo(inputRequests, answer) }),
    ...(requestState !== undefined && { requestState }),
  };
}

/** The percentiles cover this many latest runs. */
const REMEMBERED = 1_000;

/** Durations of the latest runs. */
export interface Latency {
  /** Number of all runs. */
  readonly runs: number;
  readonly failures: number;
  /** Milliseconds. Zero before the first run. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Measures all runs. Failed runs delay a prompt too. */
class LatencyMeter {
  readonly #durations: number[] = [];
  #runs = 0;
  #failures = 0;

  note(durationMs: number, isFailure: boolean): void {
    this.#durations.push(durationMs);
    if (this.#durations.length > REMEMBERED) this.#durations.shift();
    this.#runs += 1;
    if (isFailure) this.#failures += 1;
  }

  read(): Latency {
    const sorted = this.#durations.toSorted((a, b) => a - b);
    // Nearest rank: always a measured duration.
    const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
    return { runs: this.#runs, failures: this.#failures, p50Ms: at(0.5), p99Ms: at(0.99) };
  }
}
