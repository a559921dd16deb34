import { Client, type JSONRPCResponse } from '@modelcontextprotocol/client';

/** In place of a result that the SDK's client knows nothing of. */
const WHOLE = Symbol('the whole result');

/** The SDK's client, which takes a task for an answer, too. It would refuse one, and lose what it was. */
export class TaskTakingClient extends Client {
  protected override _onresponse(response: JSONRPCResponse): void {
    const result: unknown = 'result' in response ? response.result : undefined;
    const isTask = (result as { resultType?: unknown } | undefined)?.resultType === 'task';
    if (!isTask || this.getProtocolEra() !== 'modern') return super._onresponse(response);
    const accepted = { resultType: 'complete', content: [], [WHOLE]: result };
    super._onresponse({ ...response, result: accepted });
  }
}

/** What the upstream sent, of what the client hands out. */
export const wholeResult = (result: unknown): unknown => (result as { [WHOLE]?: unknown } | null)?.[WHOLE] ?? result;
