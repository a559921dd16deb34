import { LOG_LEVEL_META_KEY, type Client } from '@modelcontextprotocol/client';
import type { Logger } from 'pino';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { ResultCheck, Upstreams, UpstreamTool } from '../../workflows/domain/ports.ts';
import { HEADER_MISMATCH } from '../../workflows/domain/tools/wire-names.ts';
import { withoutMisfit } from './fitted-result.ts';
import { mirroredHeaders } from './mirrored-headers.ts';
import type { Mounted } from './mounted.ts';
import { readToolResult } from './upstream-answer.ts';
import { askOnce } from './upstream-ask.ts';

/** Below it is what only the authors of a tool want to know. */
const LEAST_LOG_LEVEL = 'info';

type Call = Parameters<Upstreams['call']>[0];

interface CallDeps {
  /** The tools by their public names, as they were listed last. */
  readonly known: () => ReadonlyMap<string, UpstreamTool>;
  readonly fitsOutput: ResultCheck;
  readonly log: Logger;
}

/** Calls of tools that these upstreams have. */
export function createCalls(
  upstreams: ReadonlyMap<string, Mounted>,
  { known, fitsOutput, log }: CallDeps,
): Pick<Upstreams, 'call'> {
  /** The tool that the call is bound to. A process that listed the tools long ago lists them again before it gives up. */
  async function boundTool({ upstream, upstreamTool, toolDigest }: Call): Promise<UpstreamTool | undefined> {
    const { connection, start = '' } = upstreams.get(upstream) ?? {};
    const find = () => known().get(`${start}${upstreamTool}`);
    if (toolDigest === undefined || find()?.digest === toolDigest) return find();
    await connection?.refresh();
    const tool = find();
    if (tool?.digest === toolDigest) return tool;
    throw new CountersignError('ERR_CALL_BINDING_MISMATCH', 'the tool has changed since the call was bound to it');
  }

  return {
    async call(call, options) {
      const { upstream, upstreamTool, arguments: args, meta, idempotencyKey, caller } = call;
      const { connection } = upstreams.get(upstream) ?? {};
      const _meta = options.onLog === undefined ? meta : { ...meta, [LOG_LEVEL_META_KEY]: LEAST_LOG_LEVEL };
      const params = { name: upstreamTool, arguments: args, ...(_meta !== undefined && { _meta }) };
      let tool: UpstreamTool | undefined;
      const headers = async (client: Client) => {
        tool = await boundTool(call);
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
      const fitted = withoutMisfit(answer, tool, fitsOutput);
      if (fitted !== undefined) log.warn({ upstream, upstreamTool }, 'a structured result breaks its output schema');
      return fitted ?? answer;
    },
  };
}
