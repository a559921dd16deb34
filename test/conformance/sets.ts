/** The targets that the suite runs against. */
export const TARGETS = {
  fixture: 'the fixture upstream alone, without Countersign: Countersign does not cause the failures here',
  relayed: 'the gateway, for an agent whose every call is allowed',
  gated: 'the gateway, for an agent whose calls of task tools wait for an approval, which a program gives',
  stdio: 'countersign stdio, whose host is the official client, against the servers of the suite',
  issuer: 'the identity provider of development, as an authorization server',
} as const;
export type Target = keyof typeof TARGETS;

/** A selection of scenarios of one version of the suite. */
export interface ConformanceSet {
  readonly name: string;
  /** The package of `test/foreign/conformance` that has it. */
  readonly package: '@modelcontextprotocol/conformance' | 'conformance-0.1';
  /** The arguments of each run. */
  readonly runs: readonly (readonly string[])[];
  readonly targets: readonly Target[];
}

const TASK_SCENARIOS = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-status-notifications',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
];

/** What the suite demands of clients in the present revision, as far as it is the part of `countersign stdio` and not of its host. */
const SIGN_IN_SCENARIOS = [
  ...['metadata-default', 'metadata-var1', 'metadata-var2', 'metadata-var3', 'metadata-issuer-mismatch', 'basic-cimd'],
  ...['scope-from-www-authenticate', 'scope-from-scopes-supported', 'scope-omitted-when-undefined', 'scope-step-up'],
  ...['scope-retry-limit', 'token-endpoint-auth-basic', 'token-endpoint-auth-post', 'token-endpoint-auth-none'],
  ...['pre-registration', 'resource-mismatch', 'offline-access-scope', 'offline-access-not-supported'],
  ...['authorization-server-migration', 'iss-supported', 'iss-not-advertised', 'iss-supported-missing'],
  ...['iss-wrong-issuer', 'iss-unexpected', 'iss-normalized'],
].map((one) => `auth/${one}`);
const RELAY_SCENARIOS = ['request-metadata', 'http-standard-headers', 'http-custom-headers'];

const PRESENT = '@modelcontextprotocol/conformance';
const ofClients: readonly Target[] = ['stdio'];
const both: readonly Target[] = ['fixture', 'relayed'];
const everybody: readonly Target[] = ['fixture', 'relayed', 'gated'];

/**
 * The first two are the sets that a revision of the protocol requires; each scenario runs in the form of that revision.
 */
export const SETS: readonly ConformanceSet[] = [
  { name: '2026-07-28', package: PRESENT, runs: [['--requirements', '2026-07-28']], targets: both },
  { name: '2025-11-25', package: PRESENT, runs: [['--requirements', '2025-11-25']], targets: both },
  { name: 'all', package: PRESENT, runs: [['--suite', 'all']], targets: both },
  { name: 'tasks', package: PRESENT, runs: TASK_SCENARIOS.map((one) => ['--scenario', one]), targets: everybody },
  {
    name: 'clients-2026-07-28',
    package: PRESENT,
    runs: [...SIGN_IN_SCENARIOS, ...RELAY_SCENARIOS].map((one) => ['--scenario', one, '--spec-version', '2026-07-28']),
    targets: ofClients,
  },
  {
    name: 'clients-2025-11-25',
    package: PRESENT,
    runs: [['--suite', 'auth'], ...['tools_call', 'sse-retry'].map((one) => ['--scenario', one])],
    targets: ofClients,
  },
  // The suite has no scenario that tries a server as a protected resource.
  { name: 'authorization', package: PRESENT, runs: [[]], targets: ['issuer'] },
  { name: '0.1.16', package: 'conformance-0.1', runs: [['--suite', 'all']], targets: both },
];
