import { addressOf } from '../../shared/http/list-cursor.ts';
import { Code } from '../../shared/pages/visible.tsx';
import { KINDS_COUNTED } from '../listing.ts';
import type { RequestKind } from '../stores/lists.ts';
import { Agent } from './names.tsx';
import { requestsIn } from './paging.tsx';

/** An agent that has this many open requests hides those of the others. */
const MANY = 10;
const AGENTS_SHOWN = 6;
const TOOLS_SHOWN = 3;

interface ByAgentProps {
  readonly kinds: readonly RequestKind[];
  /** Query parameters of the page. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
}

/** Leads to the requests of each agent, folded. It is there only if one agent of several asks for so much that it hides the others. */
export function ByAgent({ kinds, parameters: { status, order } }: ByAgentProps) {
  const agents = agentsIn(kinds);
  if (agents.length < 2 || agents[0] === undefined || agents[0].count < MANY) return null;
  // The database counts the most frequent kinds, so a count can be too low.
  const isCut = kinds.length >= KINDS_COUNTED;
  const others = agents.length - AGENTS_SHOWN;
  return (
    <details class="by-agent folded">
      <summary>By agent</summary>
      <nav aria-label="Requests by agent">
        <ul>
          {agents.slice(0, AGENTS_SHOWN).map(({ agent, count, tools }) => (
            <li key={agent}>
              <a href={addressOf('/requests', { status, order, agent })}>
                <Agent clientId={agent} />
              </a>{' '}
              {isCut && 'at least '}
              {requestsIn(count)}: <Tools tools={tools} />
            </li>
          ))}
        </ul>
        {others > 0 && (
          <p class="soft">
            The filter “Agent” has {others === 1 ? '1 more agent' : `${others.toLocaleString('en')} more agents`}.
          </p>
        )}
      </nav>
    </details>
  );
}

function Tools({ tools }: { tools: readonly (readonly [tool: string, count: number])[] }) {
  const others = tools.length - TOOLS_SHOWN;
  return (
    <span class="soft">
      {tools.slice(0, TOOLS_SHOWN).map(([tool, count], position) => (
        <span key={tool}>
          {position > 0 && ', '}
          <Code text={tool} /> {count.toLocaleString('en')}
        </span>
      ))}
      {others > 0 && ` and ${others === 1 ? '1 more tool' : `${others.toLocaleString('en')} more tools`}`}
    </span>
  );
}

/** The agents of a list, and their tools, by the number of requests. */
function agentsIn(kinds: readonly RequestKind[]) {
  const byAgent = new Map<string, Map<string, number>>();
  for (const { agent, tool, count } of kinds) {
    if (agent === null) continue;
    const tools = byAgent.get(agent) ?? new Map<string, number>();
    byAgent.set(agent, tools.set(tool, (tools.get(tool) ?? 0) + count));
  }
  return [...byAgent]
    .map(([agent, tools]) => ({
      agent,
      count: [...tools.values()].reduce((sum, count) => sum + count, 0),
      tools: [...tools].toSorted(([, a], [, b]) => b - a),
    }))
    .toSorted((a, b) => b.count - a.count);
}
