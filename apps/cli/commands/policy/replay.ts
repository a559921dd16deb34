import { resolve } from 'node:path';
import { Command } from 'commander';
import type { ChangedCall, ReplayCounts } from '../../../pdp/main.ts';
import { CliError, facts, type Io, visible } from '../../context.ts';
import { loadPdp, located, policyPlaces } from './places.ts';

const REPLAY_HELP = `
FILE is a decision log (pdp.decisionLog) or a file of cases for \`policy test\`. Approvals of recorded calls count as they did
then. With --json, every changed call is one line, and the last line has the counts.`;

interface ReplayOptions {
  readonly policies: string;
  readonly against?: string;
  readonly failOnChange?: boolean;
  readonly json?: boolean;
}

export function replayCommand(io: Io): Command {
  return new Command('replay')
    .description(
      'decide recorded calls by changed rules or policies and by the present ones, and list every difference',
    )
    .argument('<file>', 'recorded calls')
    .requiredOption(
      '--policies <candidate>',
      'folder with the changed policies, or configuration file with the changed rules',
    )
    .option('--against <folder>', 'the present ones (default: the configuration)')
    .option('--fail-on-change', 'exit code 1 if a decision would change, or a line cannot be read')
    .option('--json', 'print lines of JSON')
    .addHelpText('after', REPLAY_HELP)
    .action(async (file: string, options: ReplayOptions, command: Command) => {
      const present = policyPlaces(io, command, options.against);
      const candidate = policyPlaces(io, command, options.policies);
      const { replayCalls, shortVersion } = await loadPdp();
      const counts = await replayCalls({
        file: resolve(io.cwd, file),
        present,
        candidate,
        onChange: ({ before, after, ...call }) => {
          const from = before.policies.map((policy) => located(io, present, policy));
          const to = after.policies.map((policy) => located(io, candidate, policy));
          const changed = { ...call, before: { ...before, policies: from }, after: { ...after, policies: to } };
          io.out(options.json ? JSON.stringify(changed) : changeInWords(changed));
        },
        onProgress: (calls) => io.err(`${calls} calls`),
      });
      if (options.json) io.out(JSON.stringify(counts));
      else printCounts(io, counts, shortVersion);
      requireReplayed(io, counts, options);
    });
}

function changeInWords({ name, subject, action, resource, before, after }: ChangedCall): string {
  const side = (when: string, { outcome, reason, template, cause, policies }: ChangedCall['before']) => {
    const by = policies.map(({ id, file, line }) => `${id} (${file}:${line})`);
    const parts = [outcome, reason, template, cause, ...by].filter((part) => part !== undefined);
    return `  ${when.padEnd(6)}  ${parts.join('  ')}`;
  };
  const lines = [`${name}: ${action} on ${resource} by ${subject}`, side('before', before), side('after', after)];
  return lines.map(visible).join('\n');
}

function printCounts(io: Io, counts: ReplayCounts, shortVersion: (id: string) => string): void {
  io.out(
    facts([
      ['calls', String(counts.calls)],
      ['changed', String(counts.changed)],
      ...Object.entries(counts.changes).map(([kind, count]) => [kind, String(count)] as const),
      ['present', shortVersion(counts.present)],
      ['candidate', shortVersion(counts.candidate)],
    ]),
  );
}

function requireReplayed(io: Io, counts: ReplayCounts, { failOnChange }: ReplayOptions): void {
  const { changed, unreadable, firstUnreadable, calls } = counts;
  if (calls === 0) throw new CliError(`no call was replayed. ${visible(firstUnreadable ?? 'The file has none')}`);
  if (unreadable > 0) io.err(`${unreadable} not replayed. ${visible(firstUnreadable ?? '')}`);
  if (!failOnChange) return;
  if (changed > 0) throw new CliError(`${changed} of ${calls} decisions would change; review them above`);
  if (unreadable > 0) throw new CliError('not every line was replayed; correct the file');
}
