import { CountersignError } from '../../../workflows/domain/errors.ts';

/**
 * A mapping that cannot be used, or not for this message: nothing is asked about the message, and it goes nowhere. Clients read
 * the text: it names the place in the mapping and what is wrong there, and holds no claim and no argument.
 * @see COAZ, mapping errors (COAZ-ER-02)
 */
export class MappingError extends CountersignError {
  constructor(problem: string) {
    super('ERR_MAPPING_FAILED', problem);
    this.name = 'MappingError';
  }
}

const MAX_SHOWN = 120;

/** A text of a mapping as it may stand in a message: whoever wrote it may be nobody's friend. */
export const shown = (text: string): string => {
  const plain = text.replaceAll(/[^\x20-\x7e]/g, '?');
  return plain.length > MAX_SHOWN ? `${plain.slice(0, MAX_SHOWN)}…` : plain;
};
