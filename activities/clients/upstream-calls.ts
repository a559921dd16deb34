import { LOG_LEVEL_META_KEY, type Client } from '@modelcontextprotocol/client';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Upstreams, UpstreamTool } from '../../workflows/domain/ports.ts';
import { HEADER_MISMATCH } from '../../workflows/domain/tools/wire-names.ts';
import { mirroredHeaders } from './mirrored-headers.ts';
import type { Mounted } from './mounted.ts';
import { readToolResult } from './upstream-answer.ts';
import { askOnce } from './upstream-ask.ts';

/** Below it is what only the authors of a tool want to know. */
const LEAST_LOG_LEVEL = 'info';

type Call = Parameters<Upstreams['call']>[0];

/** Calls of tools that these upstreams have. `known`: the tool of an upstream by the upstream's own name, as it was listed last. */
export function createCalls(
  upstreams: ReadonlyMap<string, Mounted>,
  known: (upstream: string, upstreamTool: string) => UpstreamTool | undefined,
): Pick<Upstreams, 'call'> {
  /** The tool that the call was bound to. A process that listed the tools long ago lists them again before it gives up. */
  async function boundTool({ upstream, upstreamTool, toolDigest }: Call): Promise<UpstreamTool | undefined> {
    const find = () => known(upstream, upstreamTool);
    if (toolDigest === undefined || find()?.digest === toolDigest) return find();
    await upstreams.get(upstream)?.connection.refresh();
    const tool = find();
    if (tool?.digest === toolDigest) return tool;
    throw new CountersignError('ERR_CALL_BINDING_MISMATCH', 'the tool has changed since the call was bound to it');
  }

  return {
    async call(call, options) {
      const { upstream, upstreamTool: name, arguments: args, meta, idempotencyKey, caller } = call;
      const { connection } = upstreams.get(upstream) ?? {};
      const _meta = options.onLog === undefined ? meta : { ...meta, [LOG_LEVEL_META_KEY]: LEAST_LOG_LEVEL };
      const params = { name, arguments: args, ...(_meta !== undefined && { _meta }) };
      const headers = async (client: Client) => {
        const tool = await boundTool(call);
        const isModern = client.getProtocolEra() === 'modern';
        return {
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          ...(isModern && mirroredHeaders(tool?.facts.headers.mirrored ?? [], args)),
        };
      };
      const asked = { ...options, caller, headers };
      const answer = await askOnce(connection, { method: 'tools/call', params }, asked, readToolResult);
      // The upstream declares other headers by now. The call is not repeated, but the next one is bound to what is so.
      if (answer.kind === 'error' && answer.code === HEADER_MISMATCH) connection?.listLater();
      return answer;
    },
  };
}
