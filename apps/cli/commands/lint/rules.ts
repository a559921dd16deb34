import { pino } from 'pino';
import { type Json, objectOf, ownProperty } from '../../../../workflows/domain/canonical-json.ts';
import { contradictionsIn } from '../../../../workflows/domain/tools/tool-facts.ts';
import { unfitNames } from '../../../../workflows/domain/tools/model-names.ts';
import { dryRunArguments } from '../../../../workflows/domain/tools/preview.ts';
import { namePrefixOf } from '../../../../workflows/domain/tools/wire-names.ts';
import type { UpstreamTool } from '../../../../workflows/domain/upstream-ports.ts';
import { MappingError } from '../../../shared/coaz/json-of.ts';
import { compileMapping, expressionsIn, expressionsOf, type Mapping } from '../../../shared/coaz/mapping.ts';
import type { Config } from '../../../shared/config/config.ts';
import { CountersignError } from '../../../../workflows/domain/errors.ts';
import { approverWarnings } from '../../../shared/approvers/known-people.ts';
import { templateProblems } from '../../../shared/approvers/stages.ts';
import { systemClock } from '../../../shared/clock.ts';
import { formatPath } from '../../../shared/config/problems.ts';
import { openDirectory } from '../../../shared/directory/directory.ts';
import { awaitsFirstStart, exampleFiles } from '../../stack.ts';
import { OWN_COMMAND } from '../../own-command.ts';

/** A problem of a tool, a policy, an approver or a setting. */
export interface Finding {
  /** An `error` makes the command fail. */
  readonly severity: 'error' | 'warning';
  readonly rule:
    | 'approvers'
    | 'asks'
    | 'contradiction'
    | 'mapping'
    | 'name'
    | 'no-policy'
    | 'policy'
    | 'preview'
    | 'refused'
    | 'setting'
    | 'no-such-tool'
    | 'no-tools'
    | 'unknown-requirement'
    | 'namespace';
  /** Name of a tool, an upstream, a requirement or a setting. */
  readonly about: string;
  readonly message: string;
}

export const finding = (
  severity: Finding['severity'],
  rule: Finding['rule'],
  about: string,
  message: string,
): Finding => ({ severity, rule, about, message });

/** The tools of the upstreams: offered and refused ones. Nothing is known of the tools of an unlisted one. */
export interface Offered {
  readonly tools: readonly UpstreamTool[];
  readonly refused: readonly { readonly name: string; readonly upstream: string; readonly reason: string }[];
  /** Upstreams that did not list their tools, with the reason and the next step as a sentence about each. */
  readonly unlisted: ReadonlyMap<string, string>;
}

/** Whether an upstream that did not list its tools may have one of this name. */
export const mayBeUnlisted = (
  tool: string,
  { mcpServers }: Pick<Config, 'mcpServers'>,
  { unlisted }: Pick<Offered, 'unlisted'>,
): boolean =>
  Object.entries(mcpServers).some(
    ([upstream, { prefix = upstream }]) => unlisted.has(upstream) && tool.startsWith(namePrefixOf(prefix)),
  );

/** Problems of tools and their settings, in the order of the rules. */
export function lintTools(
  config: Pick<Config, 'stateDir' | 'mcpServers' | 'tools' | 'requirements' | 'gateway'>,
  offered: Offered,
): Finding[] {
  const { tools, refused } = offered;
  const unknown = Object.keys(config.tools).filter((name) => !mayBeUnlisted(name, config, offered));
  return [
    ...Object.keys(config.mcpServers).flatMap((upstream) => checkListed(config, upstream, offered)),
    ...unknown.flatMap((name) => checkNamed(name, offered)),
    ...refused.map(({ name, reason }) => finding('error', 'refused', name, reason)),
    ...tools.flatMap(checkHints),
    ...checkNames(tools),
    ...tools.flatMap((tool) => checkMapping(config, tool)),
    ...tools.flatMap((tool) => checkPreview(config, tool, tools)),
    ...checkRequirements(config, tools),
  ];
}

/** The tools of an upstream that does not answer are unknown, and so is whether its settings and rules are right. */
function checkListed(
  config: Pick<Config, 'stateDir' | 'mcpServers'>,
  upstream: string,
  { tools, refused, unlisted }: Offered,
): Finding[] {
  if ([...tools, ...refused].some((tool) => tool.upstream === upstream)) return [];
  const problem = unlisted.get(upstream);
  if (problem === undefined) return [finding('warning', 'no-tools', upstream, 'it lists no tools')];
  const message = awaitsFirstStart(config, upstream)
    ? `its folder ${exampleFiles(config)} does not exist yet; the first \`${OWN_COMMAND} up\` makes it: run that first, or make the folder`
    : problem;
  return [finding('error', 'no-tools', upstream, `${message}. ${NOT_COMPARED}`)];
}

const NOT_COMPARED = 'Until it lists its tools, nothing is said about settings and rules that may be about them';

/** Settings under a wrong name apply to no tool, and protect no tool. */
function checkNamed(name: string, { tools, refused }: Pick<Offered, 'tools' | 'refused'>): Finding[] {
  if ([...tools, ...refused].some((tool) => tool.name === name)) return [];
  const message = 'the configuration has settings for this tool, and no upstream that answers has it; correct the name';
  return [finding('error', 'no-such-tool', name, message)];
}

const checkNames = (tools: readonly UpstreamTool[]): Finding[] =>
  unfitNames(tools).flatMap(({ names, advice }) =>
    names.map((name) => finding('warning', 'name', name, `many models refuse a list of tools with it: ${advice}`)),
  );

/** @see advisory policy hints (HINT-010, HINT-013) */
function checkHints({ name, facts: { hints, annotations } }: UpstreamTool): Finding[] {
  const isDestructive = hints.effect === 'delete' || annotations['destructiveHint'] === true;
  const found = contradictionsIn(hints.effect, annotations).map((message) =>
    finding('error', 'contradiction', name, message),
  );
  if (!isDestructive || hints.requiresConfirmation === true) return found;
  const message =
    'it is destructive, and no hint tells hosts to ask a person first; set requiresConfirmation, or its true effect';
  return [...found, finding('error', 'asks', name, message)];
}

/** A preview that no call of the tool would ever get. */
function checkPreview(
  { tools: settings }: Pick<Config, 'tools'>,
  { name, upstream, definition }: UpstreamTool,
  tools: readonly UpstreamTool[],
): Finding[] {
  const preview = ownProperty(settings, name)?.preview;
  if (preview === undefined) return [];
  const report = (message: string) => [finding('error', 'preview', name, `no call of it gets a preview: ${message}`)];
  if ('tool' in preview) {
    const isBeside = tools.some((one) => one.name === preview.tool && one.upstream === upstream);
    return isBeside ? [] : report(`its server has no ${preview.tool}; correct preview.tool`);
  }
  const { argument, value } = preview.dryRun;
  if (dryRunArguments(definition['inputSchema'], {}, preview.dryRun) !== undefined) return [];
  return report(`its schema names no argument ${argument} that takes ${JSON.stringify(value)}; correct preview.dryRun`);
}

/** @see SEP-2487 (REQ-002) */
function checkRequirements({ requirements }: Pick<Config, 'requirements'>, tools: readonly UpstreamTool[]): Finding[] {
  const declared = [...new Set(tools.flatMap(({ facts }) => facts.requirements))];
  return declared.flatMap((one) => {
    const unknown = 'no setting of requirements checks it, so every call that needs it is refused; add one';
    const unnamed = 'it has no namespace; use one, as in env:production';
    return [
      ...(Object.hasOwn(requirements, one) ? [] : [finding('warning', 'unknown-requirement', one, unknown)]),
      ...(/^[^:]+:./.test(one) ? [] : [finding('warning', 'namespace', one, unnamed)]),
    ];
  });
}

type Settings = Pick<Config, 'mcpServers' | 'gateway'>;
/** An argument that a mapping reads. */
interface Use {
  readonly name: string;
  readonly isOptional: boolean;
  readonly at: string;
}

/** Problems of the mapping of a tool, before a call. @see COAZ, Mapping Integrity (COAZ-FW-24, COAZ-DC-06) */
function checkMapping(config: Settings, tool: UpstreamTool): Finding[] {
  const { mapping } = tool.facts;
  if (mapping === undefined) return [];
  const report: Report = (severity, message) => finding(severity, 'mapping', tool.name, message);
  try {
    const form = compileMapping(mapping.content);
    return [...checkSubject(config, tool, form, report), ...checkArguments(tool, form, report)];
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    return [report('error', `its mapping is not valid, so every call fails: ${error.message}`)];
  }
}

type Report = (severity: Finding['severity'], message: string) => Finding;

/** @see COAZ-SU-01, COAZ-SU-04 */
function checkSubject(
  { mcpServers, gateway }: Settings,
  { upstream }: UpstreamTool,
  { shared, evaluations: [first] }: Mapping,
  report: Report,
): Finding[] {
  const { identityClaim } = gateway.coaz;
  const subject = shared.subject ?? first?.subject;
  if (subject === undefined) return [];
  const id = subject.kind === 'map' ? subject.members.find(([name]) => name === 'id')?.[1] : subject;
  if (id === undefined) return [];
  const [read, ...more] = expressionsIn(id).flatMap(({ expression }) => expression.reads);
  const isIdentity =
    id.kind === 'expression' && more.length === 0 && read?.root === 'token' && read.path.join('.') === identityClaim;
  if (isIdentity) return [];
  const may = ownProperty(mcpServers, upstream)?.mappingsMayNameSubject === true;
  if (may) return [report('warning', 'its mapping names the subject itself, which is not verified')];
  const token = `$token.${identityClaim}`;
  const message = `its mapping names another subject than ${token}, so calls fail unless both are equal; use ${token}`;
  return [report('error', message)];
}

/** @see COAZ-EX-02, COAZ-PP-07 */
function checkArguments({ definition }: UpstreamTool, form: Mapping, report: Report): Finding[] {
  const schema = objectOf(definition['inputSchema']);
  const declared = Object.keys(objectOf(schema['properties']));
  const required = asList(schema['required']);
  const { uses, usesAll } = usesOf(form);
  const plain = uses.filter(({ name, isOptional }) => !isOptional && !required.includes(name));
  const unguarded = plain.filter(
    ({ name, at }) => !uses.some((use) => use.name === name && use.at === at && use.isOptional),
  );
  const unknown = uses.filter(({ name }) => schema['additionalProperties'] === false && !declared.includes(name));
  const unmapped = usesAll ? [] : declared.filter((name) => !uses.some((use) => use.name === name));
  const leftOut = `its mapping leaves out ${unmapped.join(', ')}: no policy sees them, though an approval covers them`;
  return [
    ...unknown.map(({ name, at }) =>
      report('error', `${at} reads the argument "${name}", which the tool does not take`),
    ),
    ...unguarded
      .filter(({ name }) => !unknown.some((use) => use.name === name))
      .map(({ name, at }) =>
        report('error', `${at} fails without the argument "${name}", which is optional; select it with .?${name}`),
      ),
    ...(unmapped.length === 0 ? [] : [report('warning', leftOut)]),
  ];
}

/** The arguments that the expressions read. `usesAll`: an expression reads all arguments, or an argument that only the call names. */
function usesOf(form: Mapping): { readonly uses: readonly Use[]; readonly usesAll: boolean } {
  const reads = expressionsOf(form).flatMap(({ expression, at }) =>
    expression.reads.filter(({ root }) => root === 'params').map((read) => ({ ...read, at })),
  );
  const uses = reads.flatMap(({ path: [member, name], needs, at }) =>
    member === 'arguments' && name !== undefined ? [{ name, isOptional: needs < 2, at }] : [],
  );
  return {
    uses,
    usesAll: reads.some(({ path }) => path.length === 0 || (path.length === 1 && path[0] === 'arguments')),
  };
}

const asList = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

/**
 * Problems of the approvers, compared with the present directory. Errors would stop the start of the access request service. Warnings name
 * approvers that nothing knows.
 */
export function lintApprovers(config: Pick<Config, 'mode' | 'identity' | 'approvals' | 'directory'>): Finding[] {
  const { approvals, directory } = config;
  const wrong = (about: string, message: string) => finding('error', 'approvers', about, message);
  try {
    const people = openDirectory(directory, { clock: systemClock, log: pino({ enabled: false }) });
    const problems = templateProblems(approvals, people());
    const unknown = problems.length > 0 ? [] : approverWarnings(config, people());
    return [
      ...problems.map(({ path, message }) => wrong(formatPath(path), message)),
      ...unknown.map(({ path, message }) => finding('warning', 'approvers', formatPath(path), message)),
    ];
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return [wrong('directory.file', error.message.replace(/^directory: /, ''))];
  }
}
