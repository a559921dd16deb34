import { addCommand } from './commands/add.ts';
import { auditCommand } from './commands/audit.ts';
import { connectCommand } from './commands/connect.ts';
import { demoCommand } from './commands/demo.ts';
import { doctorCommand } from './commands/doctor.ts';
import { initCommand } from './commands/init.ts';
import { lintCommand } from './commands/lint.ts';
import { migrateCommand } from './commands/migrate.ts';
import { policyCommand } from './commands/policy.ts';
import { reconcileCommand } from './commands/reconcile.ts';
import { requestsCommand } from './commands/requests.ts';
import { signatureCommand } from './commands/signature.ts';
import { stdioCommand } from './commands/stdio.ts';
import { tokenCommand } from './commands/token.ts';
import { upCommand } from './commands/up.ts';
import type { Command } from 'commander';
import type { Io } from './context.ts';

/** Every command, in the order of the help. */
export const COMMANDS: readonly ((io: Io) => Command)[] = [
  initCommand,
  addCommand,
  upCommand,
  connectCommand,
  stdioCommand,
  demoCommand,
  doctorCommand,
  lintCommand,
  migrateCommand,
  tokenCommand,
  requestsCommand,
  auditCommand,
  reconcileCommand,
  policyCommand,
  signatureCommand,
];
