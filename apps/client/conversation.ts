import { systemClock, type Clock } from '../shared/clock.ts';
import { LatencyMeter, type Latency } from './latency.ts';
import { PREPROCESSOR_META } from './names.ts';
import type { ListedTool } from './tool.ts';

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
