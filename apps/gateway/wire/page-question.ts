import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { InputRequest } from '../../../workflows/domain/upstream-ports.ts';
import { INPUT_METHODS } from './identifiers.ts';

const OPEN_THE_PAGE =
  'A person has to approve this call before the tool runs. Open the page to see the request. Your answer here decides nothing.';

/** The page of a held call, as a question of the gateway. It names no person. @see MCP elicitation, URL mode */
export const pageQuestion = (page: string): InputRequest & { readonly params: JsonObject } => ({
  method: INPUT_METHODS.elicitation,
  params: { mode: 'url', message: OPEN_THE_PAGE, url: page },
});
