import { Command, Option } from 'commander';
import { type Io, json, readConfig } from '../context.ts';
import { type Audience, AUDIENCES, signIn } from '../people.ts';

interface TokenOptions {
  readonly as: string;
  readonly audience: Audience;
  readonly scope?: string;
  readonly json?: boolean;
}

/** `token`: an access token of a person of the development stack, alone on stdout. */
export function tokenCommand(io: Io): Command {
  return new Command('token')
    .description('print an access token of one of the people of the running development stack')
    .requiredOption('--as <name>', 'whose token')
    .addOption(new Option('--audience <service>', 'what it is for').choices(AUDIENCES).default('mcp'))
    .option('--scope <scopes>', 'scopes of the token, separated by blanks (default: all that the service knows)')
    .option('--json', 'print { token, audience }')
    .action(async (options: TokenOptions, command: Command) => {
      const { config } = readConfig(io, command);
      const { token, urls } = await signIn(io, config, {
        audience: options.audience,
        name: options.as,
        scope: options.scope,
      });
      io.out(options.json ? json({ token, audience: urls[options.audience] }) : token);
    });
}
