export { Conversation, isPreprocessor } from './conversation.ts';
export type { ConversationOptions, Message, ModelRequest, PreprocessorOutput, ToolServer } from './conversation.ts';
export { mayHaveRun, readDisposition, type AnyToolResult } from './disposition.ts';
export type { Latency } from './latency.ts';
export { isBoundToFail, requirementsOf, type KnownRequirements } from './requirements.ts';
export type { ListedTool } from './tool.ts';
