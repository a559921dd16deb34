import { type Clock, systemClock } from '../shared/clock.ts';
import { type ListedTool, PREPROCESSOR_META } from './answer.ts';

/** Nobody wants to wait longer for a prompt to begin. Milliseconds. */
const TIMEOUT_MS = 2_000;

/** A server as this library uses it; any MCP client fits with a line around each. */
export interface ToolServer<Tool extends ListedTool> {
  listTools(): Promise<readonly Tool[]>;
  /** Rejects, or answers with `isError`, when the tool gives nothing. */
  callTool(call: { name: string; arguments: Record<string, unknown> }, signal: AbortSignal): Promise<unknown>;
}

/** What a preprocessor gave for one prompt. */
export interface PreprocessorOutput {
  readonly tool: string;
  /** The blocks of its result, as they came. */
  readonly content: readonly unknown[];
}

export interface Message {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

/** Everything that the model gets for one prompt. */
export interface ModelRequest<Tool> {
  /** Prompts and answers of earlier turns, and nothing of any preprocessor. */
  readonly history: readonly Message[];
  /** For this request alone, in the order in which the server lists the tools. */
  readonly context: readonly PreprocessorOutput[];
  readonly prompt: string;
  /** What the model may call: preprocessors are not among them. */
  readonly tools: readonly Tool[];
}

export interface ConversationOptions<Tool extends ListedTool> {
  /** What a preprocessor is given for a prompt. */
  readonly argumentsFor: (tool: Tool, prompt: string) => Record<string, unknown>;
  /** Limit on one preprocessor. Default: 2 seconds. */
  readonly timeoutMs?: number;
  /** For tests. Default: the time of this machine. */
  readonly clock?: Clock;
}

export const isPreprocessor = ({ preprocessor, _meta }: ListedTool): boolean =>
  preprocessor === true || _meta?.[PREPROCESSOR_META] === true;

/**
 * A conversation in which the server's preprocessors run before each prompt reaches the model. What they give is part of
 * that one request: it gets into no history, and the tools themselves into no list. One that fails, takes too long or
 * answers with a task gives nothing, and the prompt goes on without it.
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

  /** One prompt and its answer. A turn whose model fails leaves the history as it was. */
  async turn(prompt: string, model: (request: ModelRequest<Tool>) => Promise<string>): Promise<string> {
    const listed = await this.#server.listTools();
    // At once, since none may have an effect that another could see; but in the order of the list.
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

  /** How long each preprocessor held prompts up, by its name. */
  latency(): ReadonlyMap<string, Latency> {
    return new Map([...this.#meters].map(([tool, meter]) => [tool, meter.read()]));
  }

  async #run(tool: Tool, prompt: string): Promise<PreprocessorOutput | undefined> {
    const { clock = systemClock } = this.#options;
    const began = clock.monotonicMs();
    const content = await this.#contentOf(tool, prompt).catch(() => undefined);
    const meter = this.#meters.get(tool.name) ?? new LatencyMeter();
    this.#meters.set(tool.name, meter);
    meter.note(clock.monotonicMs() - began, content === undefined);
    return content && { tool: tool.name, content };
  }

  async #contentOf(tool: Tool, prompt: string): Promise<readonly unknown[] | undefined> {
    const { argumentsFor, timeoutMs = TIMEOUT_MS, clock = systemClock } = this.#options;
    const signal = clock.signalAfter(timeoutMs);
    const call = this.#server.callTool({ name: tool.name, arguments: argumentsFor(tool, prompt) }, signal);
    // A client that does not heed the signal must not hold the prompt up either.
    const late = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(new Error('too late'))),
    );
    const result = (await Promise.race([call, late])) as { content?: unknown; isError?: unknown; resultType?: unknown };
    const isResult = Array.isArray(result.content) && result.isError !== true && result.resultType !== 'task';
    return isResult ? (result.content as unknown[]) : undefined;
  }
}

/** What a server asks for: of the user, of the model, or of the client. The same in an answer and in a task. */
export interface Question {
  readonly method: string;
  readonly params?: unknown;
}

/** By the keys that the server chose. */
export type Questions = Readonly<Record<string, Question>>;

/**
 * Answers one question, as it would if it came alone: nothing here tells it that a task is behind it, or an approval, so it
 * trusts it no more for that (TASK-041).
 */
export type Answerer = (question: Question) => Promise<unknown>;

/**
 * Answers the questions, one after the other, by their keys: what `tasks/update` takes.
 *
 * @param answered Keys that were answered already; they are left out, and the new ones added. A task may show a question
 *   again until it has seen the answer.
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
  // A key is the server's choice: `__proto__` is one like any other.
  return Object.fromEntries(answers);
}

/** A request's answer that asks for something first. */
export interface Asking {
  readonly inputRequests?: Questions | undefined;
  readonly requestState?: string | undefined;
}

/**
 * The parameters with which the request is repeated: its own, the answers, and the state as the server gave it. What came
 * with an earlier repetition stays behind. The request needs an id of its own, which clients choose by themselves.
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

/** Runs that are remembered; older ones do not count. */
const REMEMBERED = 1_000;

/** How long something took, over its last runs. */
export interface Latency {
  /** All that were ever made. */
  readonly runs: number;
  readonly failures: number;
  /** Milliseconds. Zero before the first run. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Measures runs, failed ones too: whoever waited, waited. */
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
    // The nearest rank: a duration that was measured, none between two.
    const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
    return { runs: this.#runs, failures: this.#failures, p50Ms: at(0.5), p99Ms: at(0.99) };
  }
}
