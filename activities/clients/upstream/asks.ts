import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { INPUT_METHODS } from '../../../workflows/domain/tools/wire-names.ts';
import {
  ASK_KINDS,
  type AskKind,
  type InputRequest,
  type RelayedAnswer,
  type RelayedTaskAnswer,
  type UpstreamAnswer,
  type Unanswered,
} from '../../../workflows/domain/upstream-ports.ts';
import { INTERNAL_ERROR } from './reading.ts';

/** What the operator lets an upstream ask. */
export interface AskSettings {
  readonly asks?: readonly AskKind[] | undefined;
}

/** The roots of a client are not among them: some servers take these folders in place of those that their operator gave them. */
const OVER_HTTP: readonly AskKind[] = ['elicitation', 'sampling'];

/**
 * What an upstream of an earlier revision may ask over connections of its own. Without a setting, a program asks nothing: each session
 * would start one more process of it, with a state of its own.
 */
export const asksOfEarlier = (server: AskSettings): readonly AskKind[] =>
  server.asks ?? ('url' in server ? OVER_HTTP : []);

/** The kind of a question. Undefined for a request that is none. */
export const kindOf = (method: string): AskKind | undefined => ASK_KINDS.find((kind) => INPUT_METHODS[kind] === method);

/** These capabilities without those that stand for other questions. What stands for none stays. */
export function withinAsks(capabilities: JsonObject, asks: readonly AskKind[] | undefined): JsonObject {
  if (asks === undefined) return capabilities;
  const isKept = (name: string) => !(ASK_KINDS as readonly string[]).includes(name) || asks.includes(name as AskKind);
  return Object.fromEntries(Object.entries(capabilities).filter(([name]) => isKept(name)));
}

const NOT_ALLOWED: Unanswered = {
  kind: 'error',
  code: INTERNAL_ERROR,
  message: 'The upstream server asked for something that the operator of this gateway does not let it ask.',
  isOurs: true,
};

/** The answer, unless it has a question that the operator does not allow, and of which the upstream was not told. */
export function withoutOtherQuestions<T extends RelayedAnswer | UpstreamAnswer | RelayedTaskAnswer>(
  answer: T,
  asks: readonly AskKind[] | undefined,
): T | Unanswered {
  if (asks === undefined) return answer;
  const isAllowed = ({ method }: InputRequest) => asks.some((kind) => kind === kindOf(method));
  return questionsIn(answer).every(isAllowed) ? answer : NOT_ALLOWED;
}

function questionsIn(answer: RelayedAnswer | UpstreamAnswer | RelayedTaskAnswer): readonly InputRequest[] {
  if (answer.kind === 'task') return Object.values(answer.task.inputRequests ?? {});
  return answer.kind === 'input_required' ? Object.values(answer.inputRequests ?? {}) : [];
}
