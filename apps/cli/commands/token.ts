import { Command, Option } from 'commander';
import { type Io, json, readConfig } from '../context.ts';
import { type Audience, AUDIENCES, signIn } from '../api.ts';

/** The client of such a token is its subject. */
const NO_PERSON =
  'note: calls with this token are those of a program. No person can confirm them as their own, where a template has `requester: true`; for that, sign in from a host';

/** `token`: prints an access token of a person of the development stack, and only the token, on stdout. */
export function tokenCommand(io: Io): Command {
  return new Command('token')
    .description('print an access token for a person of the running development stack')
    .requiredOption('--as <name>', 'person of the configuration')
    .addOption(new Option('--audience <service>', 'service that accepts the token').choices(AUDIENCES).default('mcp'))
    .option('--scope <scopes>', 'scopes of the token, separated by blanks (default: all scopes of the service)')
    .option('--json', 'print { token, audience }')
    .action(async (options: { as: string; audience: Audience; scope?: string; json?: boolean }, command: Command) => {
      const { as: name, audience, scope } = options;
      const { token, urls } = await signIn(io, readConfig(io, command).config, { audience, name, scope });
      if (audience === 'mcp') io.err(NO_PERSON);
      io.out(options.json ? json({ token, audience: urls[audience] }) : token);
    });
}
