import express, { type Router } from 'express';
import type { JWTVerifyGetKey } from 'jose';
import { isServiceToken } from '../shared/auth/service-token.ts';
import type { Clock } from '../shared/clock.ts';
import { bearerTokenOf, challenge } from '../shared/http/bearer.ts';
import type { SignBindingToken } from './binding-token.ts';
import type { EvaluationStore } from './stores/evaluation.store.ts';

export const RECORDED_DENIALS_PATH = '/access/v1/denials';

export interface RecordedDenials {
  readonly evaluations: Pick<EvaluationStore, 'find'>;
  readonly signBindingToken: SignBindingToken;
  /** The access request service, as it signs, and its keys. Nobody else may look anything up. */
  readonly reader: { readonly issuer: string; readonly keys: JWTVerifyGetKey; readonly clock: Clock };
  /** The PDP's identifier. */
  readonly url: string;
}

/**
 * What is on record of a requestable denial, for an access request service that was given nothing but the id of the
 * evaluation: its binding token, signed anew, without an inline copy of the context, which is not kept.
 * @see ARAP-SUB-13, ARAP-BND-19
 */
export function recordedDenialsRouter({ evaluations, signBindingToken, reader, url }: RecordedDenials): Router {
  const router = express.Router();
  router.get('/:id', async (request, response) => {
    const token = bearerTokenOf(request);
    if (token === undefined || !(await isServiceToken(token, { ...reader, audience: url }))) {
      challenge(response, url, token === undefined ? undefined : 'invalid_token');
      return void response.status(401).type('text/plain').send('only the access request service may ask');
    }
    response.set('Cache-Control', 'no-store');
    const denial = await evaluations.find(request.params.id);
    if (denial === undefined) return void response.status(404).type('text/plain').send('no such denial');
    response.json({ binding_token: await signBindingToken(denial) });
  });
  return router;
}
