import { type Json, objectOf, ownProperty } from '../../../../workflows/domain/canonical-json.ts';
import { contradictionsIn } from '../../../../workflows/domain/tools/tool-facts.ts';
import type { UpstreamTool } from '../../../../workflows/domain/upstream-ports.ts';
import { MappingError } from '../../../shared/coaz/json-of.ts';
import { compileMapping, expressionsIn, expressionsOf, type Mapping } from '../../../shared/coaz/mapping.ts';
import type { Config } from '../../../shared/config/config.ts';
import { awaitsFirstStart, exampleFiles } from '../../example-files.ts';
import type { Finding } from './finding.ts';

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

type Settings = Pick<Config, 'mcpServers' | 'gateway'>;
/** An argument that a mapping selects, and how. */
interface Use {
  readonly name: string;
  readonly isOptional: boolean;
  readonly at: string;
}

/**
 * What is wrong with the mapping of a tool, before a call shows it. @see COAZ, Mapping Integrity (COAZ-FW-24, COAZ-DC-06)
 */
function checkMapping(config: Settings, tool: UpstreamTool): Finding[] {
  const { mapping } = tool.facts;
  if (mapping === undefined) return [];
  const say = (severity: Finding['severity'], message: string): Finding => ({
    severity,
    rule: 'mapping',
    about: tool.name,
    message,
  });
  try {
    const form = compileMapping(mapping.content);
    return [...checkSubject(config, tool, form, say), ...checkArguments(tool, form, say)];
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    return [say('error', `its mapping cannot be used, so every call fails: ${error.message}`)];
  }
}

type Say = (severity: Finding['severity'], message: string) => Finding;

/** @see COAZ-SU-01, COAZ-SU-04 */
function checkSubject(
  { mcpServers, gateway }: Settings,
  { upstream }: UpstreamTool,
  { shared, evaluations: [first] }: Mapping,
  say: Say,
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
  return may
    ? [say('warning', 'its mapping names the subject itself, which nobody verifies')]
    : [
        say(
          'error',
          `its mapping names another subject than $token.${identityClaim}, so calls fail unless the two are equal`,
        ),
      ];
}

/** @see COAZ-EX-02, COAZ-PP-07 */
function checkArguments({ definition }: UpstreamTool, form: Mapping, say: Say): Finding[] {
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
  return [
    ...unknown.map(({ name, at }) => say('error', `${at} reads the argument "${name}", which the tool does not take`)),
    ...unguarded
      .filter(({ name }) => !unknown.some((use) => use.name === name))
      .map(({ name, at }) =>
        say('error', `${at} fails without the argument "${name}", which may be left out; select it with .?${name}`),
      ),
    ...(unmapped.length === 0
      ? []
      : [say('warning', `its mapping leaves out ${unmapped.join(', ')}: no policy sees them, though they are bound`)]),
  ];
}

/** Which arguments the expressions select; `usesAll` where one takes all that there are, or one that nobody can tell before. */
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
