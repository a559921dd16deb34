import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import type { HttpServer } from '../../apps/shared/http/listen.ts';
import { serve } from './serve.ts';

export interface Question {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  // Members are asserted one by one.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any;
}
/** The engine's reaction to a question; an object is a JSON answer. */
export type Reply = object | ((response: ServerResponse, question: Question) => unknown);

/** A rule engine over HTTP, which gives the test's answers and keeps the questions. */
export class RuleEngine {
  readonly secret = `whsec_${Buffer.from('a secret of 32 bytes, as it must').toString('base64')}`;
  readonly questions: Question[] = [];
  /** By the path of the question. */
  readonly replies: Record<string, Reply> = {};
  #server: HttpServer | undefined;
  #url = '';

  async start(): Promise<void> {
    const port = await freePort();
    this.#url = `http://127.0.0.1:${port}`;
    this.#server = await serve((request, response) => {
      void text(request).then(async (body) => {
        const question = { headers: request.headers, body, data: JSON.parse(body).data };
        this.questions.push(question);
        const reply = this.replies[(request.url ?? '').slice(1)] ?? { verdict: 'abstain' };
        response.setHeader('content-type', 'application/json');
        if (typeof reply === 'function') return void (await reply(response, question));
        response.end(JSON.stringify(reply));
      });
    }, port);
  }

  stop = async () => this.#server?.close();

  /** The setting of a resolver at one of its paths. */
  setting(path: string, changes: object = {}) {
    return { url: `${this.#url}/${path}`, secret: this.secret, networks: ['127.0.0.0/8'], ...changes };
  }

  asked = (id: string) => this.questions.filter(({ data }) => data.id === id);

  /** Throws unless the question was signed with the secret. */
  verify({ headers, body }: Question): void {
    new Webhook(this.secret).verify(body, headers as Record<string, string>);
  }
}
