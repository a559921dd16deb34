import { ServerResponse, type IncomingMessage } from 'node:http';
import { CALLBACK_PATH } from '../../apps/shared/config/config.ts';
import type { Through } from './failpoints.ts';
import type { StepName } from './steps.ts';

const MCP_STEPS: Readonly<Record<string, StepName>> = { 'tools/call': 'C5', 'tasks/get': 'Q2' };

/**
 * Puts a failpoint where this process hands the answer to an MCP request, or to a callback, to the network. A failure
 * is a connection that is cut: before the answer's first byte, or with the answer on its way.
 */
export function breakAnswers(through: Through): void {
  const answer = ServerResponse.prototype.end;
  ServerResponse.prototype.end = function breakable(this: ServerResponse, ...args: unknown[]) {
    const step = stepOf(this.req);
    const send = () => answer.apply(this, args as Parameters<typeof answer>);
    if (step === undefined) return send();
    const cut = () => {
      this.destroy();
      return this;
    };
    void through(
      step,
      async () => void send(),
      () => void cut(),
    );
    return this;
  } as typeof answer;
}

function stepOf({ method, url, headers }: IncomingMessage): StepName | undefined {
  if (method === 'POST' && url === CALLBACK_PATH) return 'K1';
  return MCP_STEPS[String(headers['mcp-method'])];
}
