import * as z from 'zod';
import { isAmbiguous } from '../../../workflows/domain/faithful-json.ts';
import { TOO_MANY_MEMBERS } from '../../shared/http/body-fault.ts';
import { INVALID_PARAMS } from './identifiers.ts';

/** What the body parser says of a body that we refused, with its bytes. */
const refusedBody = z.object({
  type: z.enum(['body.number_inexact', 'body.character_broken', 'body.too_many']),
  body: z.instanceof(Buffer),
});
/** A request whose id is as it was written. */
const request = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]),
  method: z.string().min(1),
});

/**
 * The answer to a request that has a number which no double can hold, half a character, or more members than it may: an error with
 * the id of the request, since a client of an earlier revision takes an error without one, or another status than 200, for the end of
 * its session. `undefined` for any other error, and where it is not certain which request the body is, or costs too much to find out.
 */
export function answerToUnkeptValue(error: unknown): object | undefined {
  const refused = refusedBody.safeParse(error);
  if (!refused.success) return undefined;
  const text = refused.data.body.toString('utf8');
  const asked = isAmbiguous(text) ? undefined : request.safeParse(parsed(text)).data;
  return (
    asked && { jsonrpc: '2.0', id: asked.id, error: { code: INVALID_PARAMS, message: MESSAGES[refused.data.type] } }
  );
}

const MESSAGES = {
  'body.number_inexact':
    'Invalid params: there is a number that is too long to be kept exactly, so nothing was done. Next step: send it as a text if the ' +
    'tool takes one, or send a whole number between -9007199254740991 and 9007199254740991.',
  'body.character_broken':
    'Invalid params: a text has half a character (a surrogate without the other one), so nothing was done. Next step: send the whole ' +
    'character, or leave it out.',
  'body.too_many': `Invalid params: nothing was done, since ${TOO_MANY_MEMBERS}.`,
} as const;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
