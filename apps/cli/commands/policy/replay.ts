import { resolve } from 'node:path';
import { Command } from 'commander';
import type { ChangedCall, PolicyPlaces, ReplayCounts } from '../../../pdp/main.ts';
import { CliError, facts, type Io, visible } from '../../context.ts';
import { placed, policyPlaces } from './check.ts';

const REPLAY_HELP = `
FILE is a decision log (pdp.decisionLog) or a file of cases for \`policy test\`. Approvals that came with recorded calls
count as they did then. With --json, every changed call is one line, and the last line has the counts.`;

interface ReplayOptions {
  readonly policies: string;
  readonly against?: string;
  readonly failOnChange?: boolean;
  readonly json?: boolean;
}

/** `policy replay`: what other policies would have decided otherwise. */
export function replayCommand(io: Io): Command {
  return new Command('replay')
    .description('put recorded calls to changed policies and to the present ones, and tell what would change')
    .argument('<file>', 'recorded calls')
    .requiredOption('--policies <candidate>', 'folder with the changed policies')
    .option('--against <folder>', 'the present policies (default: pdp.policies)')
    .option('--fail-on-change', 'exit code 1 when a decision would change, or a line cannot be read')
    .option('--json', 'print lines of JSON')
    .addHelpText('after', REPLAY_HELP)
    .action(async (file: string, options: ReplayOptions, command: Command) => {
      const present = policyPlaces(io, command, options.against);
      const candidate = policyPlaces(io, command, options.policies);
      // Loaded only now: it brings the policy engine with it.
      const { replayCalls, shortVersion } = await import('../../../pdp/main.ts');
      const counts = await replayCalls({
        file: resolve(io.cwd, file),
        present,
        candidate,
        onChange: (changed) => tell(io, located(io, { present, candidate }, changed), options),
        onProgress: (calls) => io.err(`${calls} calls`),
      });
      if (options.json) io.out(JSON.stringify(counts));
      else print(io, counts, shortVersion);
      verdict(io, counts, options);
    });
}

function verdict(io: Io, { changed, unreadable, firstUnreadable, calls }: ReplayCounts, options: ReplayOptions): void {
  if (calls === 0) throw new CliError(`no call could be replayed. ${visible(firstUnreadable ?? 'The file has none')}`);
  if (unreadable > 0) io.err(`${unreadable} not replayed. ${visible(firstUnreadable ?? '')}`);
  if (!options.failOnChange) return;
  if (changed > 0) throw new CliError(`${changed} of ${calls} decisions would change`);
  if (unreadable > 0) throw new CliError('not everything was replayed');
}

function located(
  io: Io,
  { present, candidate }: Record<'present' | 'candidate', PolicyPlaces>,
  { before, after, ...call }: ChangedCall,
): ChangedCall {
  return {
    ...call,
    before: { ...before, policies: before.policies.map((policy) => placed(io, present, policy)) },
    after: { ...after, policies: after.policies.map((policy) => placed(io, candidate, policy)) },
  };
}

function tell(io: Io, changed: ChangedCall, options: ReplayOptions): void {
  if (options.json) return io.out(JSON.stringify(changed));
  const { name, subject, action, resource } = changed;
  io.out(visible(`${name}: ${action} on ${resource} by ${subject}`));
  for (const [when, outcome] of [
    ['before', changed.before],
    ['after', changed.after],
  ] as const) {
    const policies = outcome.policies.map(({ id, file, line }) => `${id} (${file}:${line})`);
    const parts = [outcome.outcome, outcome.reason, outcome.template, outcome.cause, ...policies];
    io.out(visible(`  ${when.padEnd(6)}  ${parts.filter((part) => part !== undefined).join('  ')}`));
  }
}

function print(io: Io, counts: ReplayCounts, shortVersion: (id: string) => string): void {
  const kinds = Object.entries(counts.changes).map(([kind, count]) => [kind, String(count)] as const);
  io.out(
    facts([
      ['calls', String(counts.calls)],
      ['changed', String(counts.changed)],
      ...kinds,
      ['present', shortVersion(counts.present)],
      ['candidate', shortVersion(counts.candidate)],
    ]),
  );
}
