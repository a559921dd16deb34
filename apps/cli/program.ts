import { Command, CommanderError } from 'commander';
import { startFailure } from '../shared/lifecycle.ts';
import { commandsFor, type MakeCommand } from './commands.ts';
import { CliError, EXIT, type GlobalOptions, type Io, visible } from './context.ts';
import { version } from './version.ts';

const AFTER_HELP = `
First steps, in an empty folder:
  countersign up                                                    starts everything, with an example
  countersign add <name> -- npx -y <package of an MCP server>       puts the server in place of the example
  countersign connect claude-code                                   connects your MCP host

Environment:
  COUNTERSIGN_CONFIG  configuration file, without --config
  COUNTERSIGN_STATE   state folder of the embedded parts (default: .countersign)
  COUNTERSIGN_TOKEN   bearer token, instead of signing in as a person of the configuration
  DATABASE_URL        PostgreSQL, instead of the embedded one
  TEMPORAL_ADDRESS    Temporal frontend, instead of the embedded one

Exit codes:
  0  the command succeeded
  1  the command failed; stderr has the reason
  2  the command line is not valid`;

/** Runs one command line and returns the exit code. An error is one line; --debug adds its stack. */
export async function runCli(args: readonly string[], io: Io): Promise<number> {
  const program = createProgram(io, await commandsFor(args));
  try {
    await program.parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const { debug } = program.opts<GlobalOptions>();
    const message = startFailure(error).split('\n').map(visible).join('\n');
    // With an empty message, the output already says everything.
    if (message !== '') io.err(`countersign: ${message}`);
    if (debug && error instanceof Error) io.err(stackOf(error));
    return error instanceof CliError ? error.exitCode : EXIT.failed;
  }
}

const SEE_HELP = 'Add --help to see the options.';
/** What people leave out most often. */
const AFTER_ERROR: Readonly<Record<string, string>> = {
  add: `Put -- before the program of a server, as in: npx countersign add files -- npx -y PACKAGE. ${SEE_HELP}`,
};

function createProgram(io: Io, commands: readonly MakeCommand[]): Command {
  const program = new Command('countersign')
    .description('Durable approval of MCP tool calls: gateway, policy decision point, inbox and audit.')
    .option('-c, --config <file>', 'configuration file (default: ./countersign.yaml, else the example)')
    .option('--debug', 'show stack traces')
    .version(version(), '-V, --version', 'print the version')
    .addHelpText('after', AFTER_HELP);
  for (const command of commands) program.addCommand(command(io));
  return configured(program, io);
}

/** Subcommands do not inherit these settings: each must write to `io`, and must not end the process. */
function configured(command: Command, io: Io): Command {
  command
    .exitOverride()
    .showHelpAfterError(AFTER_ERROR[command.name()] ?? SEE_HELP)
    .configureOutput({
      writeOut: (text) => io.out(text.replace(/\n$/, '')),
      writeErr: (text) => io.err(text.replace(/\n$/, '')),
    });
  for (const child of command.commands) configured(child, io);
  return command;
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by: ${stackOf(error.cause)}` : own;
}
