export { kindOfAnswer, type AnswerKind } from './answer.ts';
export { Conversation, isPreprocessor } from './conversation.ts';
export type { ConversationOptions, Message, ModelRequest, PreprocessorOutput, ToolServer } from './conversation.ts';
export { mayRepeat, readDenial, type Denial } from './denial.ts';
export { mayHaveRun, readDisposition, type AnyToolResult } from './disposition.ts';
export type { Latency } from './latency.ts';
export { answersTo, repetitionOf, type Answerer, type Asking, type Question, type Questions } from './questions.ts';
export { isBoundToFail, requirementsOf, type KnownRequirements } from './requirements.ts';
export {
  readSignature,
  SignatureError,
  type AnySignature,
  type ListedThings,
  type ListName,
  type TrustedSignature,
} from './signature.ts';
export type { ListedTool } from './tool.ts';
