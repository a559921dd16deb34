import type { Upstreams } from '../../workflows/domain/ports.ts';
import type { Mounted } from './mounted.ts';
import { readToolResult } from './upstream-answer.ts';
import { askOnce } from './upstream-ask.ts';

/** Calls of tools that these upstreams have. */
export function createCalls(upstreams: ReadonlyMap<string, Mounted>): Pick<Upstreams, 'call'> {
  return {
    call({ upstream, upstreamTool: name, arguments: args, meta, idempotencyKey, caller }, options) {
      const { connection } = upstreams.get(upstream) ?? {};
      const params = { name, arguments: args, ...(meta !== undefined && { _meta: meta }) };
      const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
      return askOnce(connection, { method: 'tools/call', params }, { ...options, caller, headers }, readToolResult);
    },
  };
}
