import { isObject, type JsonObject, ownProperty } from '../../../../workflows/domain/canonical-json.ts';
import type { EvaluationRequest } from '../../../../workflows/domain/authzen/evaluation.ts';
import { EFFECTS } from '../../../../workflows/domain/tools/tool-facts.ts';
import type { Config } from '../../../shared/config/config.ts';
import { upstreamOf } from '../lint/policies.ts';
import { CliError, EXIT } from '../../context.ts';

/** A call in the options of a command. */
export interface CallOptions {
  readonly tool?: string;
  readonly arguments?: string;
  readonly as?: string;
  readonly role?: readonly string[];
  readonly client?: string;
  readonly effect?: string;
}

/** The evaluation request that the gateway would make of the call, as far as the configuration and the options say. */
export function requestOf(
  {
    tool,
    arguments: text = '{}',
    as: subject = 'someone',
    role = [],
    client,
    effect: given,
  }: CallOptions & { tool: string },
  { mcpServers, tools }: Pick<Config, 'mcpServers' | 'tools'>,
): EvaluationRequest {
  const effect = given ?? ownProperty(tools, tool)?.effect;
  if (effect !== undefined && !EFFECTS.some((one) => one === effect)) {
    throw new CliError(`--effect is one of ${EFFECTS.join(', ')}`, { exitCode: EXIT.usage });
  }
  const server = upstreamOf(tool, mcpServers);
  const call = {
    tool,
    ...(server !== undefined && { server }),
    ...(effect !== undefined && { effect }),
    roles: [...role],
  };
  return {
    subject: { type: 'identity', id: subject },
    action: { name: 'tools/call' },
    resource: { type: 'tool', id: tool },
    context: { ...(client !== undefined && { agent: client }), arguments: argumentsOf(text), call },
  };
}

function argumentsOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw new CliError(`--arguments is not a JSON object; write it as '{"path": "/srv/a"}'`, { exitCode: EXIT.usage });
}
