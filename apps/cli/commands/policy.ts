import { Command } from 'commander';
import type { Io } from '../context.ts';
import { checkCommand } from './policy/check.ts';
import { ejectCommand } from './policy/eject.ts';
import { explainCommand } from './policy/explain.ts';
import { replayCommand } from './policy/replay.ts';
import { suggestCommand } from './policy/suggest.ts';
import { testCommand } from './policy/test.ts';

/** `policy`: shows the effect of rules and policies before a PDP uses them. */
export function policyCommand(io: Io): Command {
  const policy = new Command('policy').description('try the rules and policies');
  for (const command of [checkCommand, testCommand, explainCommand, replayCommand, suggestCommand, ejectCommand])
    policy.addCommand(command(io));
  return policy;
}
