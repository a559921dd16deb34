import { version } from '../version.ts';

/** What a person chooses for a new configuration. */
export interface Choices {
  /** Names of the people who approve, in the development issuer. */
  readonly approvers: readonly string[];
  /** Whether a folder `policies/` for Cedar stands beside the rules. */
  readonly policies: boolean;
}

/** The answers of a person who does not want to be asked. */
export const USUAL_CHOICES: Choices = { approvers: ['alice', 'bob'], policies: false };

/** Names of people, as the configuration takes them. */
export const PERSON = /^[a-z0-9][a-z0-9._-]{0,62}$/;
/** Who is there beside the approvers. The agent is for programs with an account of their own. */
const OTHERS = [
  { name: 'agent', role: 'agent' },
  { name: 'olivia', role: 'auditor' },
] as const;
/** Names that no approver can have. */
export const TAKEN: readonly string[] = OTHERS.map(({ name }) => name);

/** Editors fetch the schema of this version from the published package. */
const schemaAddress = () => `https://unpkg.com/countersign@${version()}/countersign.schema.json`;

/** The text of a configuration that refuses every call until servers and rules are added. */
export function newConfiguration({ approvers, policies }: Choices): string {
  const people = [OTHERS[0], ...approvers.map((name) => ({ name, role: 'approver' })), OTHERS[1]];
  return `# yaml-language-server: $schema=${schemaAddress()}
# Every other setting has a safe default: docs/settings.md lists all of them.

# MCP servers behind Countersign. \`countersign add\` puts one here, with its tools and rules. The name of a server is the
# prefix of its tools: \`files\` and \`read_file\` become \`files__read_file\`.
mcpServers: {}

# What each tool does, as you say: read, write, delete or external.
tools: {}

# Which calls pass, which need an approval, and which are refused. The strictest rule that matches wins, so their order
# means nothing. A call that no rule allows is refused. Try a call: \`countersign policy explain --tool files__read_file\`
rules: []

# Who approves if a rule does not say it: you, for your own agent, in the inbox; or another approver. If you leave out
# \`requester\`, another approver has to.
approvals:
  templates:
    approver:
      stages: [{ name: approval, approvers: { requester: true, roles: [approver] } }]
${policies ? POLICIES : ''}
# The people in the development identity provider, without passwords. Sign in to your MCP host and to the inbox as the same
# approver. In production an OIDC issuer takes the place of this list.
identity:
  people:
${people.map(({ name, role }) => `    - { name: ${name}, roles: [${role}] }\n`).join('')}`;
}

const POLICIES = `
# Cedar policies beside the rules. All of them together decide.
pdp:
  policies: ./policies
`;
