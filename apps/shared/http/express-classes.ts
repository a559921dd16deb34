import { IncomingMessage, ServerResponse, type RequestListener, type ServerOptions } from 'node:http';

/**
 * Options with which a server makes requests and responses that are the application's own from birth. Express otherwise
 * changes the prototype of each when it arrives, and V8 gives up its fast paths for whatever touches such an object
 * afterwards: that was three quarters of what answering took. Empty for a listener that is no express application.
 */
export function serverOptionsFor(app: RequestListener): ServerOptions {
  if (!isExpress(app)) return {};
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  // Express goes on setting these as prototypes, which changes nothing any more.
  app.request = AppRequest.prototype;
  app.response = AppResponse.prototype;
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}

/** What an express application puts under each request and response. */
interface Prototypes {
  request: object;
  response: object;
}

const isExpress = (app: RequestListener): app is RequestListener & Prototypes => 'request' in app && 'response' in app;
