import { isExample, type LoadedConfig } from '../../shared/config/load.ts';
import { USUAL_TEMPLATE } from '../../shared/rules/rules.ts';
import { OWN_COMMAND } from '../own-command.ts';

/** What a person reads once everything is ready: the addresses, who signs in where, and the next commands. */
export function welcome({ config, file }: LoadedConfig): string {
  const { urls, mcpServers } = config;
  const confirmsOwn = isForRequesters(config);
  const places = [
    ['MCP', urls.mcp, confirmsOwn ? 'approver' : 'agent'],
    ['Inbox', urls.approvals, 'approver'],
    ['Audit', urls.audit, 'auditor'],
  ] as const;
  const width = Math.max(...places.map(([, url]) => url.length));
  const lines = places.map(([name, url, role]) =>
    `  ${name.padEnd(5)}  ${url.padEnd(width)}  ${signInAs(role, config)}`.trimEnd(),
  );
  const next = isExample(file)
    ? BESIDE_THE_EXAMPLE
    : Object.keys(mcpServers).length === 0
      ? WITHOUT_SERVERS
      : WITH_SERVERS;
  const inPerson = confirmsOwn ? [SAME_PERSON, ''] : [];
  const noBoundary = config.identity.issuer === undefined ? [NO_BOUNDARY, ''] : [];
  return [
    '',
    'Countersign is ready.',
    '',
    ...lines,
    '',
    ...inPerson,
    ...noBoundary,
    ...next,
    '',
    'Ctrl-C stops everything; nothing is lost.',
  ].join('\n');
}

/** Whether a person confirms what their own agent wants to do, where a rule does not say who approves. */
const isForRequesters = ({ approvals }: LoadedConfig['config']): boolean =>
  approvals.templates[USUAL_TEMPLATE]?.stages.some(({ approvers }) => approvers.requester) === true;

const SAME_PERSON =
  'Sign in as the same person in your MCP host and in the inbox: there you confirm what your agent wants to do.';

const NO_BOUNDARY =
  'An agent with a shell on this machine can approve its own calls here: people sign in without passwords, and the keys are in this folder.\n' +
  'For a boundary, run Countersign as another user or on another machine, and set identity.issuer (docs/deploy.md).';

/** An issuer of one's own knows who may be an agent; the development issuer has people for it. */
function signInAs(role: 'agent' | 'approver' | 'auditor', { identity }: LoadedConfig['config']): string {
  if (identity.issuer !== undefined)
    return `sign in at ${identity.issuer}${role === 'agent' ? '' : ` with the role ${role}`}`;
  const names = identity.people.filter(({ roles }) => roles.includes(role)).map(({ name }) => name);
  return names.length === 0 ? `no person has the role ${role}` : `sign in as ${names.join(' or ')}`;
}

const DEMO = `  ${OWN_COMMAND} demo                     shows three calls of an agent, and you decide one of them`;
const ADD = `  ${OWN_COMMAND} add <name> -- <command>  puts your MCP server`;
const CONNECT = `  ${OWN_COMMAND} connect <host>           connects your MCP host, for example claude-code`;
const IN_ANOTHER_TERMINAL = 'In another terminal, in this folder:';

const BESIDE_THE_EXAMPLE = [
  'This is the example: a file server. Agents may read, and a write waits for an approval.',
  IN_ANOTHER_TERMINAL,
  '',
  DEMO,
  `${ADD} in place of the example`,
  CONNECT,
];
const WITHOUT_SERVERS = [
  'There is no MCP server behind it yet, so it offers no tools.',
  IN_ANOTHER_TERMINAL,
  '',
  `${ADD} behind it`,
  CONNECT,
];
const WITH_SERVERS = [IN_ANOTHER_TERMINAL, '', CONNECT];
