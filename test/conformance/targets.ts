import { setTimeout as pause } from 'node:timers/promises';
import { packagePath } from '../../apps/shared/config/files.ts';
import { listOpenRequests } from '../support/decisions.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { patiently } from '../support/wait-for.ts';
import { startFixtureUpstream } from './fixture/upstream.ts';
import { taskTools } from './fixture/task-tools.ts';
import { issuerSubject } from './program-at-issuer.ts';
import type { Subject } from './run-set.ts';
import type { Target } from './sets.ts';
import { startTokenProxy } from './token-proxy.ts';

const LOOK_MS = 50;
const TASK_ONLY_TOOL = 'failing_job';
const FAILING_TOOL = 'protocol_error_job';

/** Everything is allowed to every agent, except that for one agent the tools that create tasks wait for an approval. */
const POLICY = `
@id("conformance-allowed")
permit (principal, action, resource);

@id("conformance-gated")
@requestable("operator_approval")
@reason("approval_required")
forbid (principal, action == Action::"tools/call", resource)
when { principal.id == "gated" && ${JSON.stringify(Object.keys(taskTools))}.contains(resource.id) }
unless { context has approval && context.approval.verified && context.approval.template == "operator_approval" };
`;

/** The suite adds the address of its server to the command. */
const STDIO_HOST = `${process.execPath} ${packagePath('test', 'conformance', 'stdio-host.mjs')}`;

/** What the suite is told of each target. */
export interface Targets {
  readonly subjects: Readonly<Record<Target, Subject>>;
  stop(): Promise<void>;
}

/**
 * The fixture, the whole product before it under the fixture's own names, and for each agent an entry that needs no
 * token.
 */
export async function startTargets(): Promise<Targets> {
  const fixture = await startFixtureUpstream();
  const stack = await startStack({
    parts: 'together',
    policies: POLICY,
    mcpServers: { fixture: { url: fixture.url, prefix: '' } },
    config: {
      // The suite wants to see both: a tool that only works as a task, and others for clients without tasks.
      gateway: { demandTasks: [TASK_ONLY_TOOL] },
      identity: {
        people: [
          { name: 'relayed', roles: ['agent'] },
          { name: 'gated', roles: ['agent'] },
          { name: 'alice', roles: ['approver'] },
        ],
      },
    },
  });
  const doorFor = (agent: Target) => startTokenProxy(stack.config.urls.mcp, () => stack.token(agent));
  const relayed = await doorFor('relayed');
  const gated = await doorFor('gated');
  const over = new AbortController();
  const resolving = resolveEverything(stack, over.signal);
  return {
    subjects: {
      fixture: serverAt(fixture.url),
      relayed: serverAt(relayed.url),
      gated: serverAt(gated.url),
      stdio: { args: ['client', '--command', STDIO_HOST] },
      issuer: await issuerSubject(stack, 'relayed'),
    },
    async stop() {
      over.abort();
      await resolving;
      await relayed.close();
      await gated.close();
      await stack.stop();
      await fixture.close();
    },
  };
}

const serverAt = (url: string): Subject => ({ args: ['server', '--url', url] });

/**
 * Approves every request, soon. A task that waits for an approval can fail only before its tool is called, so for the
 * tool that has to break, the request breaks.
 */
async function resolveEverything(stack: Stack, over: AbortSignal): Promise<void> {
  const database = await stack.database();
  while (!over.aborted) {
    const token = await stack.token('alice', 'approvals');
    // A connection that was kept open over a standstill of the machine is closed at its first use.
    for (const request of await patiently(() => listOpenRequests(stack.config.urls.approvals, token))) {
      if (request.tool === FAILING_TOOL)
        await database.query(`SELECT approvals.end_request($1, 'failed')`, [request.id]);
      else await stack.decide(request, { verdict: 'approve' });
    }
    await pause(LOOK_MS);
  }
}
