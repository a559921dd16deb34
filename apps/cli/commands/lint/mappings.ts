import { objectOf, type Json } from '../../../../workflows/domain/canonical-json.ts';
import { ownProperty } from '../../../../workflows/domain/own-property.ts';
import type { UpstreamTool } from '../../../../workflows/domain/upstream-ports.ts';
import { compileMapping, expressionsOf, type Mapping } from '../../../shared/coaz/mapping.ts';
import { MappingError } from '../../../shared/coaz/mapping-error.ts';
import { expressionsIn } from '../../../shared/coaz/template.ts';
import type { Config } from '../../../shared/config/config.ts';
import type { Finding } from './finding.ts';

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
export function checkMapping(config: Settings, tool: UpstreamTool): Finding[] {
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
  { shared, questions: [first] }: Mapping,
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
