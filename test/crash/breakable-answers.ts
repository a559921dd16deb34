import { ServerResponse } from 'node:http';
import type { Through } from './failpoints.ts';

const STEPS = { 'tools/call': 'C5', 'tasks/get': 'Q2' } as const;

/**
 * Puts a failpoint where this process hands the answer to an MCP request to the network. A failure is a connection that is
 * cut: before the answer's first byte, or with the answer on its way.
 */
export function breakAnswers(through: Through): void {
  const answer = ServerResponse.prototype.end;
  ServerResponse.prototype.end = function breakable(this: ServerResponse, ...args: unknown[]) {
    const method = this.req.headers['mcp-method'];
    const step = typeof method === 'string' && method in STEPS ? STEPS[method as keyof typeof STEPS] : undefined;
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
