import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { AUDIENCES, type Audience } from '../api.ts';
import { CliError, EXIT, type Io, json, visible } from '../context.ts';
import type { Finding } from './doctor/check.ts';
import { readTextSync } from '../../shared/text-file.ts';

const NAME_WIDTH = 17;

interface Options {
  readonly json?: boolean;
  readonly tokenFile?: string;
  readonly audience?: Audience;
}

/** `doctor`: checks everything that Countersign needs, and prints next steps. It changes nothing. */
export function doctorCommand(io: Io): Command {
  return new Command('doctor')
    .description('check everything that Countersign needs. Exit code 1 if a check fails')
    .option('--token-file <file>', 'also check the access token in this file (-: standard input), which is not printed')
    .addOption(
      new Option(
        '--audience <service>',
        'service for which the token has to be (default: the one that it names)',
      ).choices(AUDIENCES),
    )
    .option('--json', 'print the findings as JSON')
    .action(async (options: Options, command: Command) => {
      const text = await givenToken(io, options);
      // Loaded on demand, because it brings the clients of all services.
      const { examine } = await import('./doctor/examine.ts');
      const findings = await examine(io, command, text === undefined ? text : { text, service: options.audience });
      if (options.json) io.out(json({ findings }));
      else for (const finding of findings) io.out(inWords(finding));
      const failed = findings.filter(({ status }) => status === 'fail').length;
      if (failed > 0)
        throw new CliError(
          `${failed} of ${findings.length} checks failed; the last line below each says the next step`,
        );
    });
}

async function givenToken({ environment, cwd, input }: Io, { tokenFile }: Options): Promise<string | undefined> {
  if (tokenFile === undefined) return environment.variables['COUNTERSIGN_TOKEN'];
  if (tokenFile === '-') return input();
  try {
    return readTextSync(resolve(cwd, tokenFile));
  } catch (error) {
    // Without the name: it is the token itself where the file was left out.
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    throw new CliError(`--token-file cannot be read (${code}); name a file with the token, or - for standard input`, {
      exitCode: EXIT.usage,
    });
  }
}

function inWords({ name, status, message, advice }: Finding): string {
  const first = `${status.padEnd(4)}  ${name.padEnd(NAME_WIDTH)} ${visible(message)}`;
  const further = advice?.split('\n').map((line) => `\n${' '.repeat(6 + NAME_WIDTH + 1)}${visible(line)}`) ?? [];
  return `${first}${further.join('')}`;
}
