/** Longest message of an approver for the agent, in characters. */
export const MAX_AGENT_MESSAGE_LENGTH = 500;

/**
 * Control characters, line ends, halves of characters, and all that people cannot see: a program could read hidden words in it. After a
 * pictograph, U+FE0F only chooses its form.
 */
const UNFIT =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u2800]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}|(?<!\p{Extended_Pictographic})\ufe0f/u;

/** Whether this text may stand as an approver's words for the agent: one paragraph, bounded, of characters that people can see. */
export const isAgentMessage = (text: string): boolean =>
  text.trim() !== '' && text.length <= MAX_AGENT_MESSAGE_LENGTH && !UNFIT.test(text);
