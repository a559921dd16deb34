import { Command } from 'commander';
import { pino } from 'pino';
import { systemClock } from '../../shared/clock.ts';
import { formatPath, type SettingProblem } from '../../shared/config/problems.ts';
import { CliError, type Io, json, readConfig, table, visible } from '../context.ts';
import { lintApprovers } from './lint/approvers.ts';
import type { Finding } from './lint/finding.ts';
import { configuredPlaces, HEADINGS, lintPolicies, safetyOf, safetyRow } from './lint/policies.ts';
import { lintTools } from './lint/rules.ts';
import { placed } from './policy/check.ts';

/** `lint`: what is known of every tool, and what is wrong with it, with the policies or with who may approve. Connects to the upstreams, and calls no tool. */
export function lintCommand(io: Io): Command {
  return new Command('lint')
    .description(
      'print what is known of the safety of every tool. Exit code 1 when something about one, the policies or who may approve is wrong',
    )
    .option('--json', 'print the tools and the findings as JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { config, notes } = readConfig(io, command);
      // Loaded only now: it brings the clients of everything with it.
      const { connectUpstreams } = await import('../../gateway/main.ts');
      // Whatever a log would say about a tool is a finding here.
      const upstreams = connectUpstreams(config, { clock: systemClock, log: pino({ enabled: false }) });
      try {
        const tools = await upstreams.tools();
        const offered = { tools, refused: upstreams.refused() };
        const places = configuredPlaces(config);
        const findings = [
          ...notes.map(leftAside),
          ...lintTools(config, offered),
          ...lintApprovers(config),
          ...(await lintPolicies(config, offered, (problem) => placed(io, places, problem))),
        ];
        if (options.json) io.out(json({ tools: tools.map(safetyOf), findings }));
        else print(io, tools.map(safetyRow), findings);
        const wrong = findings.filter(({ severity }) => severity === 'error').length;
        if (wrong > 0) throw new CliError(`${wrong} ${wrong === 1 ? 'thing is' : 'things are'} wrong`);
      } finally {
        await upstreams.close();
      }
    });
}

/** A setting of an MCP host that has no effect here. */
const leftAside = (note: SettingProblem): Finding => ({
  severity: 'warning',
  rule: 'setting',
  about: formatPath(note.path),
  message: note.message,
});

function print(io: Io, rows: readonly (readonly string[])[], findings: readonly Finding[]): void {
  io.out(table(HEADINGS, rows));
  for (const { severity, about, message } of findings) io.out(`${severity}  ${visible(about)}: ${visible(message)}`);
}
