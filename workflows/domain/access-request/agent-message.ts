/** Longest message of an approver for the agent, in characters. */
export const MAX_AGENT_MESSAGE_LENGTH = 500;

/** Control characters, line ends, halves of characters, and signs that are invisible or change the direction of a text. */
const UNFIT =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u;

/** Whether this text may stand as an approver's words for the agent: one paragraph, bounded, of characters that people can see. */
export const isAgentMessage = (text: string): boolean =>
  text.trim() !== '' && text.length <= MAX_AGENT_MESSAGE_LENGTH && !UNFIT.test(text);
