import { IncomingMessage, ServerResponse, type RequestListener } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import express from 'express';
import { listen } from '../../../../../apps/shared/http/listen.ts';
import { systemTime } from '../../../../support/time.ts';

/** The answer of `app` to one request. */
async function answerOf(app: RequestListener) {
  const { url, close } = await listen(app, { ...systemTime, host: '127.0.0.1', port: 0 });
  try {
    return await (await fetch(`${url}/a?b=c`, { headers: { 'x-sent': 'yes' } })).json();
  } finally {
    await close();
  }
}

describe('a server', () => {
  it('makes requests and responses whose prototypes express has no reason to change', async () => {
    const app = express();
    const made: (readonly [object, object])[] = [];
    const { server, url, close } = await listen(app, { ...systemTime, host: '127.0.0.1', port: 0 });
    server.prependListener('request', (request, response) => {
      made.push([Object.getPrototypeOf(request) as object, Object.getPrototypeOf(response) as object]);
    });
    app.get('/a', (request, response) => {
      made.push([Object.getPrototypeOf(request) as object, Object.getPrototypeOf(response) as object]);
      response.end();
    });
    await fetch(`${url}/a`);
    await close();
    expect(made).toHaveLength(2);
    expect(made[1]?.[0]).toBe(made[0]?.[0]);
    expect(made[1]?.[1]).toBe(made[0]?.[1]);
  });

  it('gives handlers all that express and Node promise, also in a second application', async () => {
    for (const name of ['first', 'second']) {
      const app = express().set('name', name);
      app.get('/a', (request, response) => {
        const isNode = request instanceof IncomingMessage && response instanceof ServerResponse;
        response.json([request.app.get('name'), request.get('X-Sent'), request.query, isNode, response.app === app]);
      });
      expect(await answerOf(app)).toEqual([name, 'yes', { b: 'c' }, true, true]);
    }
  });

  it('does not change a listener that is not an express application', async () => {
    const prototypes = await answerOf((request, response) => {
      const own = [Object.getPrototypeOf(request) === IncomingMessage.prototype, 'json' in response];
      response.end(JSON.stringify(own));
    });
    expect(prototypes).toEqual([true, false]);
  });
});
