import { Command } from 'commander';
import { CliError, type Io, json, visible } from '../context.ts';
import type { Finding } from './doctor/check.ts';

const NAME_WIDTH = 17;

/** `doctor`: looks at everything that Countersign needs, changes nothing, and says what to do. */
export function doctorCommand(io: Io): Command {
  return new Command('doctor')
    .description('check everything Countersign needs. Exit code 1 when something failed')
    .option('--json', 'print the findings as JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      // Loaded only now: it brings the clients of everything with it.
      const { examine } = await import('./doctor/examine.ts');
      const findings = await examine(io, command);
      if (options.json) io.out(json({ findings }));
      else for (const finding of findings) io.out(inWords(finding));
      const failed = findings.filter(({ status }) => status === 'fail').length;
      if (failed > 0) throw new CliError(`${failed} of ${findings.length} checks failed`);
    });
}

function inWords({ name, status, message, advice }: Finding): string {
  const first = `${status.padEnd(4)}  ${name.padEnd(NAME_WIDTH)} ${visible(message)}`;
  return advice === undefined ? first : `${first}\n${' '.repeat(6 + NAME_WIDTH + 1)}${visible(advice)}`;
}
