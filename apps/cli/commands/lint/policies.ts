import type { Json } from '../../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../../workflows/domain/upstream-ports.ts';
import type { PolicyPlaces, PolicyProblem, ToolSurvey } from '../../../pdp/main.ts';
import type { Config } from '../../../shared/config/config.ts';
import type { Finding } from './finding.ts';

/** What the policies are held against. */
interface Offered {
  readonly tools: readonly UpstreamTool[];
  readonly refused: readonly { readonly name: string; readonly upstream: string }[];
}

type Settings = Pick<Config, 'pdp' | 'directory' | 'approvals' | 'mcpServers'>;

/** Whether the decisions are made by the policies of this configuration, and by nothing else. */
export const decidesItself = ({ pdp }: Pick<Config, 'pdp'>): boolean =>
  pdp.url === undefined && pdp.engine === undefined;

/** Where `pdp` finds what it decides by. */
export const configuredPlaces = ({ pdp, directory, approvals }: Omit<Settings, 'mcpServers'>): PolicyPlaces => ({
  folder: pdp.policies,
  directory,
  catalogs: approvals.catalogs,
});

/** What is wrong with the policies, and where they and the tools of the upstreams do not fit together. */
export async function lintPolicies(
  config: Settings,
  offered: Offered,
  placed: (problem: PolicyProblem) => PolicyProblem,
): Promise<Finding[]> {
  if (!decidesItself(config)) return [];
  // Loaded only now: it brings the policy engine with it.
  const { checkPolicies, surveyTools } = await import('../../../pdp/main.ts');
  const places = configuredPlaces(config);
  const { errors, warnings } = await checkPolicies(places);
  const of = (severity: Finding['severity'], problems: readonly PolicyProblem[]) =>
    problems.map((problem) => {
      const { file, line, column, message } = placed(problem);
      return finding(severity, 'policy', [file, line, column].filter((part) => part !== undefined).join(':'), message);
    });
  if (errors.length > 0) return [...of('error', errors), ...of('warning', warnings)];
  const survey = await surveyTools(places, unmapped(offered.tools));
  return [...of('warning', warnings), ...unoffered(config, survey, offered), ...forgotten(survey)];
}

/** Of a tool with a mapping, policies speak in the words of the mapping. */
export const unmapped = (tools: readonly UpstreamTool[]): string[] =>
  tools.filter(({ facts }) => facts.mapping === undefined).map(({ name }) => name);

/** Names of tools that no upstream has: what such a policy is to permit is refused, and what it is to forbid is not. */
function unoffered({ mcpServers }: Settings, { named }: ToolSurvey, { tools, refused }: Offered): Finding[] {
  const known = [...tools, ...refused];
  return named
    .filter(({ tool }) => !known.some(({ name }) => name === tool))
    .map(({ tool, policy: { id, file } }) => {
      const upstream = upstreamOf(tool, mcpServers);
      const where = `policy "${id}" in ${file} names this tool`;
      if (upstream === undefined) return warn(tool, `${where}, and no upstream with its prefix is configured`);
      if (!known.some((one) => one.upstream === upstream))
        return warn(tool, `${where}, and whether ${upstream} has it is not known while that lists no tools`);
      return finding('error', 'no-such-tool', tool, `${where}, and ${upstream} has no such tool; correct the name`);
    });
}

const SEPARATOR = '__';

/** The upstream whose prefix the name has; one without a prefix may have every name. */
function upstreamOf(tool: string, mcpServers: Settings['mcpServers']): string | undefined {
  const prefixes = Object.entries(mcpServers).map(([upstream, { prefix = upstream }]) => ({ upstream, prefix }));
  const own = prefixes.find(({ prefix }) => prefix !== '' && tool.startsWith(`${prefix}${SEPARATOR}`));
  return (own ?? prefixes.find(({ prefix }) => prefix === ''))?.upstream;
}

const forgotten = ({ forgotten: tools }: ToolSurvey): Finding[] =>
  tools.map((tool) =>
    finding(
      'warning',
      'no-policy',
      tool,
      'no policy permits it in any case, so every call of it is refused; name it in one',
    ),
  );

const warn = (about: string, message: string) => finding('warning', 'no-such-tool', about, message);

function finding(severity: Finding['severity'], rule: Finding['rule'], about: string, message: string): Finding {
  return { severity, rule, about, message };
}

export const HEADINGS = [
  ...['TOOL', 'EFFECT', 'READS ONLY', 'DESTROYS', 'OPEN WORLD', 'CONFIRMATION', 'IDEMPOTENT', 'RESULT'],
  ...['PREPROCESSOR', 'REQUIRES'],
] as const;

/** What a client is told of the safety of a tool. What nobody says is absent. */
export function safetyOf({ name, facts }: UpstreamTool) {
  const { hints, annotations, preprocessor, requirements } = facts;
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  return { tool: name, ...hints, readOnlyHint, destructiveHint, openWorldHint, preprocessor, requirements };
}

/** The same as cells, in the order of the headings. */
export function safetyRow(tool: UpstreamTool): string[] {
  const facts = safetyOf(tool);
  return [
    facts.tool,
    said(facts.effect),
    said(facts.readOnlyHint),
    said(facts.destructiveHint),
    said(facts.openWorldHint),
    said(facts.requiresConfirmation),
    said(facts.idempotent),
    said(facts.resultSensitivity),
    facts.preprocessor ? 'yes' : 'no',
    facts.requirements.join(' ') || '-',
  ];
}

function said(value: Json | undefined): string {
  if (value === undefined) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
