export { kindOfAnswer, type AnswerKind } from './answer.ts';
export { Conversation, isPreprocessor } from './conversation.ts';
export type { ConversationOptions, Message, ModelRequest, PreprocessorOutput, ToolServer } from './conversation.ts';
export { mayRepeat, readDenial, type Denial } from './answer.ts';
export { mayHaveRun, readDisposition, type AnyToolResult } from './answer.ts';
export type { Latency } from './conversation.ts';
export { answersTo, repetitionOf, type Answerer, type Asking, type Question, type Questions } from './conversation.ts';
export { isBoundToFail, requirementsOf, type KnownRequirements } from './answer.ts';
export {
  readSignature,
  SignatureError,
  type AnySignature,
  type ListedThings,
  type ListName,
  type TrustedSignature,
} from './signature.ts';
export type { ListedTool } from './answer.ts';
