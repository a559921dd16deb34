// Rules for imports. Type imports count, because a ring that knows another ring's types depends on it.
// test/sources/import-boundaries.test.ts plants a violation of every rule and expects a report.

const MAIN = '^apps/[^/]+/main[.]ts$';
const STORES = '^(apps/[^/]+|activities)/stores/';
const GENERATED = '^prisma/generated/';
const NODE_MODULES = '(^|/)node_modules/';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'domain-imports-nothing',
      comment: 'The domain is pure: no package, no Node module, no other ring.',
      severity: 'error',
      from: { path: '^workflows/domain/' },
      to: { pathNot: '^workflows/domain/' },
    },
    {
      name: 'workflows-import-domain-and-temporal',
      comment: 'Workflow code is replayed: only the domain and the deterministic half of Temporal may be in it.',
      severity: 'error',
      from: { path: '^workflows/', pathNot: '^workflows/domain/' },
      to: { pathNot: ['^workflows/', `${NODE_MODULES}@temporalio/(workflow|common)/`] },
    },
    {
      name: 'activities-import-inwards',
      comment:
        'Activities know the domain, the ports that workflows own, their own library, and the helpers of apps/shared that are listed here; never an app.',
      severity: 'error',
      from: { path: '^activities/' },
      to: {
        path: '^(apps|workflows)/',
        pathNot: [
          '^workflows/(domain/|activity-ports[.]ts$)',
          '^apps/shared/(log-scope|clock|limits|crypto|text-file|database/(function-call|query)|schemas/schema-check)[.]ts$',
        ],
      },
    },
    {
      name: 'stores-only-store',
      comment: 'A store speaks to Postgres and to nothing else.',
      severity: 'error',
      from: { path: STORES },
      to: { path: `${NODE_MODULES}(@temporalio/|express/|zod/|@modelcontextprotocol/)` },
    },
    {
      name: 'clients-only-call',
      comment: 'A client speaks a protocol and keeps nothing: no Temporal, no database, no server.',
      severity: 'error',
      from: { path: '^activities/clients/' },
      to: { path: [`${NODE_MODULES}(@temporalio/|express/|pg/|@prisma/)`, GENERATED, '^activities/stores/'] },
    },
    {
      name: 'shared-imports-no-app',
      comment: 'apps/shared is under every app, so it must not know any app, nor the activities.',
      severity: 'error',
      from: { path: '^apps/shared/' },
      to: { path: ['^apps/(?!shared/)', '^activities/'] },
    },
    {
      name: 'apps-are-strangers',
      comment: 'Deployables meet on the wire, not in code.',
      severity: 'error',
      from: { path: '^apps/(?!shared/|cli/commands/(?:up|lint|signature|policy|doctor|add))([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/(shared|$1)/' },
    },
    {
      name: 'up-starts-mains-only',
      comment:
        'Commands that run an app, or its upstreams, use the main.ts that each app has anyway. They may import the types of its results.',
      severity: 'error',
      from: { path: '^apps/cli/commands/(?:up|lint|signature|policy|doctor|add)' },
      to: { path: '^apps/(?!shared/|cli/)', pathNot: MAIN, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-main-wires-activities',
      comment: 'One file per app decides which activity or client is behind a port.',
      severity: 'error',
      from: { path: '^apps/', pathNot: MAIN },
      to: { path: '^activities/' },
    },
    {
      name: 'gateway-takes-no-step',
      comment:
        'The worker takes the steps of a held call. The gateway uses the library of the activities (their folders), and the submission, which both do.',
      severity: 'error',
      from: { path: '^apps/gateway/' },
      to: { path: '^activities/[^/]+[.]ts$', pathNot: '^activities/submit-access-request[.]ts$' },
    },
    {
      name: 'only-main-wires-stores',
      comment: 'One file per app decides which store is behind a port. The app may import its type.',
      severity: 'error',
      from: { path: '^apps/', pathNot: [MAIN, STORES] },
      to: { path: STORES, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'authority-side-apart',
      comment:
        'The authority side shares no store with the enforcement side; AuthZEN and ARAP are between them. It asks another PDP with the same client.',
      severity: 'error',
      from: { path: '^apps/(pdp|approvals)/' },
      to: {
        path: ['^activities/(?!clients/pdp/foreign-pdp[.]ts$)', '^apps/(gateway|worker)/', '^workflows/(?!domain/)'],
      },
    },
    {
      name: 'enforcement-side-apart',
      comment: 'The enforcement side shares no store with the authority side; AuthZEN and ARAP are between them.',
      severity: 'error',
      from: { path: '^(activities|apps/(gateway|worker))/' },
      to: { path: '^apps/(pdp|approvals)/' },
    },
    {
      name: 'embedded-in-development-only',
      comment: 'Embedded servers are for `countersign up` and tests; no production entry point can reach them.',
      severity: 'error',
      from: { pathNot: '^(apps/shared/embedded/|apps/cli/|test/)' },
      to: { path: '^apps/shared/embedded/' },
    },
    {
      name: 'prisma-in-stores-only',
      comment: 'Only stores read and write rows.',
      severity: 'error',
      from: { pathNot: [GENERATED, STORES, '^test/'] },
      to: { path: GENERATED },
    },
    {
      name: 'prisma-for-types-only',
      comment:
        'Stores take the types of rows from the schema and read by SQL: the Prisma client makes each process larger and each read slower.',
      severity: 'error',
      from: { path: '^(apps|activities)/' },
      to: { path: [GENERATED, `${NODE_MODULES}@prisma/`], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'temporal-in-worker-only',
      comment: 'Only the worker needs the engine: no other deployable imports its packages, or code that speaks to it.',
      severity: 'error',
      from: { path: '^apps/(gateway|pdp|approvals|audit)/' },
      to: { path: [`${NODE_MODULES}@temporalio/`, '^apps/shared/temporal/'] },
    },
    {
      name: 'product-imports-no-test',
      comment: 'The product does not depend on its tests.',
      severity: 'error',
      from: { path: '^(apps|activities|workflows|prisma)/' },
      to: { path: '^test/' },
    },
    {
      name: 'product-imports-no-development-package',
      comment:
        'A production install has no development dependencies, and no demonstration. Type imports leave no trace in it.',
      severity: 'error',
      from: {
        path: '^(apps|activities|workflows|prisma)/',
        pathNot: ['^apps/cli/setup[.]mjs$', '^apps/cli/demo/', GENERATED],
      },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-cycle',
      comment: 'Type imports count here too.',
      severity: 'error',
      from: { pathNot: GENERATED },
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment:
        'An import that is not found means a package missing from package.json, or a wrong path. What test:hosts drives is not in package.json: that command installs it.',
      severity: 'error',
      from: { pathNot: '^test/hosts/drivers/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.mjs', '.js', '.json', '.d.ts'],
    },
  },
};
