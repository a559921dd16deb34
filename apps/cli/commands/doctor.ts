import { Command } from 'commander';
import { CliError, type Io, json, visible } from '../context.ts';
import type { Finding } from './doctor/check.ts';

const NAME_WIDTH = 17;

/** `doctor`: checks everything that Countersign needs, and prints next steps. It changes nothing. */
export function doctorCommand(io: Io): Command {
  return new Command('doctor')
    .description('check everything that Countersign needs. Exit code 1 if a check fails')
    .option('--json', 'print the findings as JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      // Loaded on demand, because it brings the clients of all services.
      const { examine } = await import('./doctor/examine.ts');
      const findings = await examine(io, command);
      if (options.json) io.out(json({ findings }));
      else for (const finding of findings) io.out(inWords(finding));
      const failed = findings.filter(({ status }) => status === 'fail').length;
      if (failed > 0)
        throw new CliError(`${failed} of ${findings.length} checks failed; the line below each says the next step`);
    });
}

function inWords({ name, status, message, advice }: Finding): string {
  const first = `${status.padEnd(4)}  ${name.padEnd(NAME_WIDTH)} ${visible(message)}`;
  return advice === undefined ? first : `${first}\n${' '.repeat(6 + NAME_WIDTH + 1)}${visible(advice)}`;
}
