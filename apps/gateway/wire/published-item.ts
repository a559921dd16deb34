import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { Pin } from '../../../workflows/domain/tools/pins.ts';

/**
 * A prompt, a resource or a resource template as clients see it: as its upstream describes it, and a prompt under its public
 * name. Of the others the address is the public name, and what is called their name is a text.
 */
export const publishedItem = ({ kind, name, definition }: Pick<Pin, 'kind' | 'name' | 'definition'>): JsonObject =>
  kind === 'prompt' ? { ...definition, name } : definition;
