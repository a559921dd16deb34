import { Command } from 'commander';
import type { Io } from '../context.ts';
export function connectCommand(_io: Io): Command {
  return new Command('connect');
}
