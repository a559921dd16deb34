import type { UpstreamTool } from '../../../../workflows/domain/upstream-ports.ts';
import { contradictionsIn } from '../../../../workflows/domain/tools/hints.ts';
import type { Config } from '../../../shared/config/config.ts';
import { awaitsFirstStart, exampleFiles } from '../../example-files.ts';
import type { Finding } from './finding.ts';
import { checkMapping } from './mappings.ts';

/** What the upstreams list: tools that are offered, and those that are refused. */
interface Found {
  readonly tools: readonly UpstreamTool[];
  readonly refused: readonly { readonly name: string; readonly upstream: string; readonly reason: string }[];
}

/** Everything that is wrong, in the order of the rules. */
export function lintTools(
  config: Pick<Config, 'stateDir' | 'mcpServers' | 'tools' | 'requirements' | 'gateway'>,
  { tools, refused }: Found,
): Finding[] {
  return [
    ...Object.keys(config.mcpServers).flatMap((upstream) => checkListed(config, upstream, { tools, refused })),
    ...Object.keys(config.tools).flatMap((name) => checkNamed(name, { tools, refused })),
    ...refused.map(({ name, reason }): Finding => ({
      severity: 'error',
      rule: 'refused',
      about: name,
      message: reason,
    })),
    ...tools.flatMap(checkHints),
    ...tools.flatMap((tool) => checkMapping(config, tool)),
    ...checkRequirements(config, tools),
  ];
}

/** An upstream that is not there has tools of which nothing is known. */
function checkListed(
  config: Pick<Config, 'stateDir' | 'mcpServers'>,
  upstream: string,
  { tools, refused }: Found,
): Finding[] {
  if ([...tools, ...refused].some((tool) => tool.upstream === upstream)) return [];
  const message = awaitsFirstStart(config, upstream)
    ? `its folder ${exampleFiles(config)} does not exist yet; the first \`npm start\` makes it: run that first, or make the folder`
    : 'it cannot be reached, or lists no tools; see what `countersign doctor` says of it, then run this again';
  return [{ severity: 'error', rule: 'no-tools', about: upstream, message }];
}

/** What the operator says under a wrong name is said of nothing, and demands nothing. */
function checkNamed(name: string, { tools, refused }: Found): Finding[] {
  if ([...tools, ...refused].some((tool) => tool.name === name)) return [];
  const message = 'the configuration says something of this tool, and no upstream that answers has it';
  return [{ severity: 'error', rule: 'no-such-tool', about: name, message }];
}

/** @see advisory policy hints (HINT-010, HINT-013) */
function checkHints({ name, facts: { hints, annotations } }: UpstreamTool): Finding[] {
  const isDestructive = hints.effect === 'delete' || annotations['destructiveHint'] === true;
  const found = contradictionsIn(hints.effect, annotations).map((message): Finding => ({
    severity: 'error',
    rule: 'contradiction',
    about: name,
    message,
  }));
  if (!isDestructive || hints.requiresConfirmation === true) return found;
  const message =
    'it destroys things, and no hint tells hosts to ask a person first; set requiresConfirmation, or the effect that it really has';
  return [...found, { severity: 'error', rule: 'asks', about: name, message }];
}

/** @see SEP-2487 (REQ-002) */
function checkRequirements({ requirements }: Pick<Config, 'requirements'>, tools: readonly UpstreamTool[]): Finding[] {
  const declared = [...new Set(tools.flatMap(({ facts }) => facts.requirements))];
  const warn = (rule: Finding['rule'], about: string, message: string): Finding[] => [
    { severity: 'warning', rule, about, message },
  ];
  return declared.flatMap((one) => [
    ...(Object.hasOwn(requirements, one)
      ? []
      : warn('unknown-requirement', one, 'nobody knows this requirement, so every call that needs it is refused')),
    ...(/^[^:]+:./.test(one)
      ? []
      : warn('namespace', one, 'requirements should have a namespace, as in env:production')),
  ]);
}
