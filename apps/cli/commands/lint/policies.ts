import { namePrefixOf } from '../../../../workflows/domain/tools/wire-names.ts';
import type { UpstreamTool } from '../../../../workflows/domain/upstream-ports.ts';
import type { PolicyPlaces, PolicyProblem, ToolSurvey } from '../../../pdp/main.ts';
import type { Config } from '../../../shared/config/config.ts';
import { type Finding, finding, mayBeUnlisted, type Offered } from './rules.ts';

type Settings = Pick<Config, 'pdp' | 'directory' | 'approvals' | 'mcpServers'>;

/** Whether only the policies of this configuration decide. */
export const decidesItself = ({ pdp }: Pick<Config, 'pdp'>): boolean =>
  pdp.url === undefined && pdp.engine === undefined;

/** The sources of the decisions of the configured PDP. */
export const configuredPlaces = ({ pdp, directory, approvals }: Omit<Settings, 'mcpServers'>): PolicyPlaces => ({
  folder: pdp.policies,
  rules: pdp.rules,
  directory,
  catalogs: approvals.catalogs,
});

/** Problems of the policies, and differences between them and the tools of the upstreams. */
export async function lintPolicies(
  config: Settings,
  offered: Offered,
  locate: (problem: PolicyProblem) => PolicyProblem,
): Promise<Finding[]> {
  if (!decidesItself(config)) return [];
  // Loaded on demand, because it brings the policy engine.
  const { checkPolicies, surveyTools } = await import('../../../pdp/main.ts');
  const places = configuredPlaces(config);
  const { errors, warnings } = await checkPolicies(places);
  const of = (severity: Finding['severity'], problems: readonly PolicyProblem[]) =>
    problems.map((problem) => {
      const { file, line, column, message } = locate(problem);
      return finding(severity, 'policy', [file, line, column].filter((part) => part !== undefined).join(':'), message);
    });
  if (errors.length > 0) return [...of('error', errors), ...of('warning', warnings)];
  const survey = await surveyTools(places, unmapped(offered.tools));
  // A rule without a tool here may have one there.
  const idleRules = offered.unlisted.size > 0 ? [] : survey.idle;
  const idle = idleRules.map(({ id, file }) => ({ file, message: `the rule "${id}" matches no tool; ${IDLE}` }));
  return [...of('warning', [...warnings, ...idle]), ...unoffered(config, survey, offered), ...forgotten(survey)];
}

const IDLE = 'correct its server and tool, or remove it';

/** Tools without a mapping. Policies for a tool with a mapping use the words of the mapping. */
export const unmapped = (tools: readonly UpstreamTool[]): string[] =>
  tools.filter(({ facts }) => facts.mapping === undefined).map(({ name }) => name);

/** Names of tools that no upstream has. The calls that such a permit means are refused, and those that such a forbid means are not. */
function unoffered({ mcpServers }: Settings, { named }: ToolSurvey, offered: Offered): Finding[] {
  const known = [...offered.tools, ...offered.refused];
  return named
    .filter(({ tool }) => !known.some(({ name }) => name === tool) && !mayBeUnlisted(tool, { mcpServers }, offered))
    .map(({ tool, policy: { id, file } }) => {
      const upstream = upstreamOf(tool, mcpServers);
      const found = (severity: Finding['severity'], why: string) =>
        finding(severity, 'no-such-tool', tool, `policy "${id}" in ${file} names this tool, and ${why}`);
      if (upstream === undefined)
        return found('warning', 'no upstream with its prefix is configured; add the upstream or correct the name');
      if (known.some((one) => one.upstream === upstream))
        return found('error', `${upstream} has no such tool; correct the name`);
      return found('warning', `${upstream} lists no tools; remove the name, or correct it`);
    });
}

/** The upstream whose prefix the name has. An upstream without a prefix can have any name. */
export function upstreamOf(tool: string, mcpServers: Settings['mcpServers']): string | undefined {
  const prefixes = Object.entries(mcpServers).map(([upstream, { prefix = upstream }]) => ({ upstream, prefix }));
  const own = prefixes.find(({ prefix }) => prefix !== '' && tool.startsWith(namePrefixOf(prefix)));
  return (own ?? prefixes.find(({ prefix }) => prefix === ''))?.upstream;
}

const forgotten = ({ forgotten: tools }: ToolSurvey): Finding[] => {
  const message = 'no rule or policy permits it in any case, so every call of it is refused; name it in one';
  return tools.map((tool) => finding('warning', 'no-policy', tool, message));
};
