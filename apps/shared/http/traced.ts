import type { RequestHandler } from 'express';
import { inLogScope, traceIn } from '../log-scope.ts';

/** What is logged of a request has the trace that the request names. @see W3C Trace Context */
export const traced: RequestHandler = (request, _response, next) => {
  inLogScope({ trace: traceIn(request.get('traceparent')) }, next);
};
