import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { MappingError } from '../../shared/coaz/mapping-error.ts';
import { MAPPED_METHODS } from './default-mappings.ts';

const TOOLS_CALL = 'tools/call';
const TOOL = 'tool';
/** Those that nobody has another use for. */
const PROTOCOL_WORDS = MAPPED_METHODS.filter((method) => method.includes('/') || method === 'initialize');

/**
 * Keeps an upstream from speaking in the words of the default mappings about anything but its own tool. Whoever writes a policy
 * about `tools/call` and another tool means that tool: a mapping that asked about it instead would borrow its permissions. Other
 * words are the upstream's own. Throws a `MappingError`.
 *
 * @param own Public name of the tool that is called. @see COAZ, Trust-Anchored (COAZ-FW-19)
 */
export function checkVocabulary({ action, resource }: EvaluationRequest, own: string): void {
  if (action.name !== TOOLS_CALL && PROTOCOL_WORDS.includes(action.name)) {
    throw new MappingError('action.name is a method of the protocol, which is not what is called');
  }
  const isOwn = resource.type === TOOL && resource.id === own;
  if ((action.name === TOOLS_CALL || resource.type === TOOL) && !isOwn) {
    throw new MappingError('resource is not this tool under its public name, though it speaks of tools');
  }
}
