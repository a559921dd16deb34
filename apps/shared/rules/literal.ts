import { hasLoneSurrogate } from './values.ts';

/** A longer text stands in no rule. */
const LONGEST_TEXT = 1_000;
/** The configuration replaces `${NAME}` by a variable, wherever it stands in a value. */
const VARIABLE = /\$\{/;

/**
 * Whether a rule in the configuration can name exactly this text of a stranger: the name of a tool, a client, or the value of an argument.
 */
export const isWritable = (text: string): boolean =>
  text !== '' && text.length <= LONGEST_TEXT && !VARIABLE.test(text) && !hasLoneSurrogate(text);

/** The pattern that fits only this text. */
export const exactly = (text: string): string => text.replaceAll('*', '\\*');
