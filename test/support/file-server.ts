import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runsWith } from '../../apps/shared/embedded/process-tools.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { Arrival } from '../invariants/invariant.ts';
import { arrivalOf } from './arrivals.ts';
import { timesLogged } from './artefacts.ts';
import type { Stack } from './stack.ts';
import { waitFor } from './wait-for.ts';

const down = ({ journal }: Stack) => join(journal, 'down');

/**
 * Kills all processes of the file server behind a stack, and every new one. Afterwards no process runs, and the gateway
 * has noticed.
 */
export async function loseFileServer(stack: Stack): Promise<void> {
  const lost = () => timesLogged(stack, 'the connection to the upstream was lost', 'gateway');
  const before = lost();
  writeFileSync(down(stack), '');
  // The worker has its own file server, which may be slower to end.
  await waitFor(() => lost() > before && !started(stack).some((pid) => runsWith(pid, stack.journal)));
}

/** All processes of the file server that were ever started. */
const started = ({ journal }: Stack): number[] =>
  readdirSync(journal).flatMap((name) => (name.startsWith('runs-') ? [Number(name.slice('runs-'.length))] : []));

/** The next caller starts it again. */
export function allowFileServer(stack: Stack): void {
  rmSync(down(stack), { force: true });
}

/** Every call that reached the file server, as noted there before it ran. */
export const arrivalsAt = (stack: Stack): Arrival[] =>
  stack.upstreamCalls().map(({ at, name, arguments: args, _meta: meta = {} }) => ({
    ...arrivalOf({
      ...{ upstream: 'files', upstreamTool: name },
      ...{ arguments: args as JsonObject, meta: meta as JsonObject },
    }),
    at: new Date(at).toISOString(),
  }));
