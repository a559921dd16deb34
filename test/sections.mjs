// The sections of `npm run test:long`. Each is a run of Node, whose last line of output is its figure.
const files = (...folders) => ['test/jest.mjs', '--config', 'jest.long.config.mjs', ...folders];
const program = (name, ...args) => ['test/run-program.mjs', name, ...args];

/**
 * The short sections come first, so that most failures show soon. A section that `leavesRoom` measures no time, and keeps about one processor
 * busy: two of them run at once.
 */
export const SECTIONS = [
  { name: 'authzen', what: 'the decision point against the scenarios of AuthZEN', run: program('authzen') },
  {
    name: 'gateway',
    what: 'outdated lists of every kind of upstream, calls that many repeat, votes at the same moment, and a crash after a sign-in',
    run: [
      'test/jest.mjs',
      ...['gateway/outdated-lists', 'gateway/repetitions', 'approvals/votes'].map((name) => `test/apps/${name}`),
      'test/e2e/host-sign-in',
    ],
    atLength: true,
  },
  {
    name: 'properties',
    what: 'what holds for any value, tried with many',
    run: [
      'test/jest.mjs',
      ...['pdp/conditions', 'pdp/decision-cache', 'apps/approvals/arguments/views', 'apps/shared/own-path'],
      ...[
        'domain/request-form',
        'apps/shared/config/database-address',
        'apps/shared/json-doors',
        'apps/shared/rules/conditions',
        'coaz/fence',
      ],
    ],
    atLength: true,
  },
  { name: 'rules', what: 'random sets of rules, and of arguments on the page', run: files('test/unit') },
  { name: 'quorum', what: 'three approvers at the same moment', run: program('quorum'), leavesRoom: true },
  {
    name: 'races',
    what: 'approval, cancellation and deadline at the same moment',
    run: program('races'),
    leavesRoom: true,
  },
  { name: 'histories', what: 'random lives of calls', run: program('histories'), leavesRoom: true },
  {
    name: 'model',
    what: 'the whole of the model against the SQL functions',
    run: ['test/jest.mjs', 'test/stores/protocol-model', 'test/stores/parties', 'test/apps/approvals/stages-model'],
    atLength: true,
    leavesRoom: true,
  },
  { name: 'workflows', what: 'long lives of workflows', run: files('test/workflows'), leavesRoom: true },
  {
    name: 'restore',
    what: 'backups restored at every moment of a call',
    run: program('restore'),
    leavesRoom: true,
  },
  {
    name: 'postgres',
    what: 'a database that fails',
    run: files('test/postgres', 'test/e2e/postgres', 'test/apps/shared/embedded/postgres'),
    leavesRoom: true,
  },
  {
    name: 'engine',
    what: 'an engine that works against calls',
    run: files('test/engine', 'test/apps/shared/embedded/temporal'),
    leavesRoom: true,
  },
  { name: 'mutants', what: 'faults planted in the protocol', run: program('mutants'), leavesRoom: true },
  {
    name: 'conformance',
    what: 'the official conformance suite of MCP',
    run: program('conformance'),
    leavesRoom: true,
  },
  {
    name: 'inspector',
    what: 'the MCP Inspector against the whole product',
    run: program('inspector'),
    leavesRoom: true,
  },
  {
    name: 'issuers',
    what: 'the whole product with Keycloak as its issuer',
    run: program('issuers'),
    leavesRoom: true,
  },
  {
    name: 'passkeys',
    what: 'signatures in records, verified by py_webauthn',
    run: program('passkeys'),
    leavesRoom: true,
  },
  { name: 'principals', what: 'attempts on tasks of others', run: program('principals') },
  { name: 'first-minute', what: 'a stranger with the packed package in an empty folder', run: program('first-minute') },
  { name: 'soak', what: 'calls during one fault after another', run: program('soak', '--minutes', '4') },
  {
    name: 'e2e',
    what: 'whole installations, broken in every way',
    run: files(
      'test/e2e/(?!postgres)',
      'test/apps/(offboarding|redirects)',
      'test/browser',
      'test/clients',
      'test/pixels',
    ),
  },
  { name: 'pixels', what: 'random pairs of calls that differ', run: program('pixels', '--pairs', '200') },
  { name: 'fuzz', what: 'random requests to the MCP endpoint', run: program('fuzz') },
  { name: 'forgeries', what: 'forged tokens, approvals, callbacks and decisions', run: program('forgeries') },
  { name: 'scale', what: '10,000 calls that wait', run: program('scale') },
  { name: 'overload', what: 'more approved calls than the worker can end', run: program('overload') },
  { name: 'day', what: "a day's work in the inbox, by keyboard and by touch", run: program('day') },
  // It needs programs of five languages, and fetches gigabytes for its first run.
  { name: 'hosts', what: 'real clients in five languages', run: program('hosts'), onlyByName: true },
];
