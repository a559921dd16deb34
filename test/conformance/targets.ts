import { setTimeout as pause } from 'node:timers/promises';
import { listOpenRequests } from '../support/decisions.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { startFixtureUpstream } from './fixture/upstream.ts';
import { taskTools } from './fixture/task-tools.ts';
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

/** The address of each target. */
export interface Targets {
  readonly urls: Readonly<Record<Exclude<Target, 'stdio'>, string>>;
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
    urls: { fixture: fixture.url, relayed: relayed.url, gated: gated.url },
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

/**
 * Approves every request, soon. A task that waits for an approval can fail only before its tool is called, so for the
 * tool that has to break, the request breaks.
 */
async function resolveEverything(stack: Stack, over: AbortSignal): Promise<void> {
  const database = await stack.database();
  while (!over.aborted) {
    const token = await stack.token('alice', 'approvals');
    for (const request of await listOpenRequests(stack.config.urls.approvals, token)) {
      if (request.tool === FAILING_TOOL)
        await database.query(`SELECT approvals.end_request($1, 'failed')`, [request.id]);
      else await stack.decide(request, { verdict: 'approve' });
    }
    await pause(LOOK_MS);
  }
}
