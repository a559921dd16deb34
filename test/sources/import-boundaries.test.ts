import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A small tree in the shape of the product: only the imports of each file matter, not its exports. */
const TARGETS = [
  'workflows/domain/errors.ts',
  'workflows/messages.ts',
  'workflows/activity-ports.ts',
  'activities/settle.ts',
  'activities/stores/gated-calls.ts',
  'activities/clients/pdp/client.ts',
  'apps/shared/logger.ts',
  'apps/shared/crypto.ts',
  'apps/shared/database.ts',
  'apps/shared/temporal/worker.ts',
  'apps/shared/embedded/postgres.ts',
  'apps/gateway/main.ts',
  'apps/gateway/calls/enforce.ts',
  'apps/approvals/main.ts',
  'apps/approvals/stores/access-requests.ts',
  'apps/approvals/inbox.ts',
  'apps/pdp/main.ts',
  'prisma/generated/client.ts',
  'test/support/database.ts',
];

/** rule → [importing file, imported file] */
const VIOLATIONS: readonly (readonly [rule: string, from: string, to: string, typeOnly?: 'type'])[] = [
  ['domain-imports-nothing', 'workflows/domain/a-package.ts', 'zod'],
  ['domain-imports-nothing', 'workflows/domain/a-node-module.ts', 'node:crypto'],
  ['domain-imports-nothing', 'workflows/domain/another-ring.ts', 'workflows/messages.ts', 'type'],
  ['workflows-import-domain-and-temporal', 'workflows/an-activity.ts', 'activities/settle.ts', 'type'],
  ['workflows-import-domain-and-temporal', 'workflows/a-node-module.ts', 'node:fs'],
  ['workflows-import-domain-and-temporal', 'workflows/a-client.ts', '@temporalio/client'],
  ['activities-import-inwards', 'activities/an-app.ts', 'apps/shared/logger.ts', 'type'],
  ['activities-import-inwards', 'activities/a-workflow-file.ts', 'workflows/messages.ts'],
  ['stores-only-store', 'activities/stores/with-zod.ts', 'zod'],
  ['stores-only-store', 'apps/approvals/stores/with-express.ts', 'express'],
  ['clients-only-call', 'activities/clients/with-a-database.ts', 'pg'],
  ['clients-only-call', 'activities/clients/with-a-store.ts', 'activities/stores/gated-calls.ts', 'type'],
  ['shared-imports-no-app', 'apps/shared/an-app.ts', 'apps/gateway/calls/enforce.ts', 'type'],
  ['shared-imports-no-app', 'apps/shared/an-activity.ts', 'activities/settle.ts'],
  ['apps-are-strangers', 'apps/audit/another-app.ts', 'apps/gateway/calls/enforce.ts', 'type'],
  ['apps-are-strangers', 'apps/cli/another-app.ts', 'apps/gateway/main.ts'],
  ['up-starts-mains-only', 'apps/cli/commands/up-too-deep.ts', 'apps/gateway/calls/enforce.ts'],
  ['up-starts-mains-only', 'apps/cli/commands/lint-too-deep.ts', 'apps/gateway/calls/enforce.ts'],
  ['up-starts-mains-only', 'apps/cli/commands/signature-too-deep.ts', 'apps/gateway/calls/enforce.ts'],
  ['only-main-wires-activities', 'apps/gateway/a-client.ts', 'activities/clients/pdp/client.ts', 'type'],
  ['gateway-takes-no-step', 'apps/gateway/main.ts', 'activities/settle.ts'],
  ['only-main-wires-stores', 'apps/approvals/a-store.ts', 'apps/approvals/stores/access-requests.ts'],
  ['authority-side-apart', 'apps/approvals/other-side.ts', 'activities/stores/gated-calls.ts', 'type'],
  ['authority-side-apart', 'apps/pdp/other-side.ts', 'workflows/messages.ts'],
  ['enforcement-side-apart', 'activities/other-side.ts', 'apps/approvals/stores/access-requests.ts', 'type'],
  ['embedded-in-development-only', 'apps/shared/with-embedded.ts', 'apps/shared/embedded/postgres.ts'],
  ['prisma-in-stores-only', 'apps/gateway/with-prisma.ts', 'prisma/generated/client.ts', 'type'],
  ['prisma-for-types-only', 'apps/approvals/stores/with-a-client.ts', 'prisma/generated/client.ts'],
  ['prisma-for-types-only', 'apps/shared/with-an-adapter.ts', '@prisma/adapter-pg'],
  ['temporal-in-worker-only', 'apps/gateway/with-temporal.ts', '@temporalio/client'],
  ['temporal-in-worker-only', 'apps/approvals/with-an-engine.ts', 'apps/shared/temporal/worker.ts', 'type'],
  ['product-imports-no-test', 'apps/gateway/with-a-test.ts', 'test/support/database.ts'],
  ['product-imports-no-development-package', 'apps/gateway/with-a-test-tool.ts', '@jest/globals'],
  ['no-cycle', 'apps/gateway/ring-a.ts', 'apps/gateway/ring-b.ts'],
  ['resolvable', 'apps/gateway/nowhere.ts', 'a-package-that-does-not-exist'],
];

const ALLOWED: readonly (readonly [from: string, to: string, typeOnly?: 'type'])[] = [
  ['workflows/domain/gated-call.ts', 'workflows/domain/errors.ts'],
  ['workflows/gated-call.workflow.ts', '@temporalio/workflow'],
  ['workflows/ports.ts', 'workflows/domain/errors.ts', 'type'],
  ['activities/index.ts', 'activities/stores/gated-calls.ts'],
  ['activities/claim.ts', 'workflows/activity-ports.ts', 'type'],
  ['activities/clients/good.ts', 'zod'],
  ['activities/with-a-digest.ts', 'apps/shared/crypto.ts'],
  ['activities/stores/good.ts', 'prisma/generated/client.ts', 'type'],
  ['apps/shared/temporal/connection.ts', '@temporalio/client'],
  ['apps/worker/main.ts', 'activities/stores/gated-calls.ts'],
  ['apps/worker/worker.ts', '@temporalio/worker'],
  ['apps/pdp/http/app.ts', 'express'],
  ['apps/pdp/engine.ts', 'apps/shared/logger.ts'],
  ['apps/audit/main.ts', 'apps/audit/stores/outcome-records.ts'],
  ['apps/audit/stores/outcome-records.ts', 'prisma/generated/client.ts', 'type'],
  ['apps/approvals/routes.ts', 'apps/approvals/stores/access-requests.ts', 'type'],
  ['apps/cli/commands/up.ts', 'apps/gateway/main.ts'],
  ['apps/cli/commands/doctor.ts', 'apps/shared/embedded/postgres.ts'],
  ['test/e2e/one.test.ts', 'apps/gateway/calls/enforce.ts'],
];

interface Violation {
  readonly from: string;
  readonly rule: { readonly name: string };
}

let tree: string;
let found: readonly Violation[];
let rules: readonly string[];

beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), 'boundaries-'));
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  for (const name of ['package.json', 'tsconfig.json', '.dependency-cruiser.mjs']) {
    await copyFile(join(ROOT, name), join(tree, name));
  }
  for (const file of TARGETS) await plant(file, 'export const it = 1;\n');
  await plant('apps/gateway/ring-b.ts', importing('apps/gateway/ring-b.ts', 'apps/gateway/ring-a.ts', 'type'));
  for (const [, from, to, typeOnly] of VIOLATIONS) await plant(from, importing(from, to, typeOnly));
  for (const [from, to, typeOnly] of ALLOWED) await plant(from, importing(from, to, typeOnly));
  const report = await cruise();
  found = report.summary.violations;
  rules = report.summary.ruleSetUsed.forbidden.map((rule) => rule.name);
});

afterAll(async () => {
  await rm(tree, { recursive: true, force: true });
});

describe('import rules', () => {
  it.each(VIOLATIONS)('%s reports %s importing %s', (rule, from) => {
    expect(found.filter((each) => each.from === from).map((each) => each.rule.name)).toContain(rule);
  });

  it.each(ALLOWED)('let %s import %s', (from) => {
    expect(found.filter((each) => each.from === from)).toEqual([]);
  });

  it('report no import that was not planted', () => {
    const planted = new Set(VIOLATIONS.map(([, from]) => from));
    expect(found.filter((each) => !planted.has(each.from))).toEqual([]);
  });

  it('are each proven by a planted violation', () => {
    expect([...new Set(VIOLATIONS.map(([rule]) => rule))].sort()).toEqual([...rules].sort());
  });
});

async function plant(file: string, text: string): Promise<void> {
  await mkdir(join(tree, dirname(file)), { recursive: true });
  await writeFile(join(tree, file), text);
}

/** A module with one import, which it uses so that the import stays when types are stripped. */
function importing(from: string, to: string, typeOnly?: 'type'): string {
  const isPath = to.endsWith('.ts');
  const specifier = isPath ? `${'../'.repeat(from.split('/').length - 1)}${to}` : to;
  return typeOnly === undefined
    ? `import * as imported from '${specifier}';\nexport const it = imported;\n`
    : `import type * as imported from '${specifier}';\nexport type It = typeof imported;\nexport const it = 1;\n`;
}

async function cruise(): Promise<{
  summary: { violations: Violation[]; ruleSetUsed: { forbidden: { name: string }[] } };
}> {
  const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const folders = ['apps', 'activities', 'workflows', 'prisma', 'test'];
  const args = [program, '--config', '.dependency-cruiser.mjs', '--output-type', 'json', ...folders];
  return new Promise((resolve, reject) => {
    // The tool exits with the number of violations; its report says whether it worked.
    execFile(process.execPath, args, { cwd: tree, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (stdout.startsWith('{')) resolve(JSON.parse(stdout));
      else reject(new Error(`dependency-cruiser gave no report: ${stderr}`, { cause: error }));
    });
  });
}
