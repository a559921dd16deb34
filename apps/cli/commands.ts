import type { Command } from 'commander';
import type { Io } from './context.ts';

export type MakeCommand = (io: Io) => Command;

/** Every command, in the order of the help. Each is loaded alone, because some bring much with them. */
const COMMANDS: ReadonlyMap<string, () => Promise<MakeCommand>> = new Map(
  Object.entries({
    init: async () => (await import('./commands/init.ts')).initCommand,
    add: async () => (await import('./commands/add.ts')).addCommand,
    remove: async () => (await import('./commands/remove.ts')).removeCommand,
    up: async () => (await import('./commands/up.ts')).upCommand,
    connect: async () => (await import('./commands/connect.ts')).connectCommand,
    stdio: async () => (await import('./commands/stdio.ts')).stdioCommand,
    demo: async () => (await import('./commands/demo.ts')).demoCommand,
    doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
    lint: async () => (await import('./commands/lint.ts')).lintCommand,
    migrate: async () => (await import('./commands/migrate.ts')).migrateCommand,
    token: async () => (await import('./commands/token.ts')).tokenCommand,
    requests: async () => (await import('./commands/requests.ts')).requestsCommand,
    audit: async () => (await import('./commands/audit.ts')).auditCommand,
    reconcile: async () => (await import('./commands/reconcile.ts')).reconcileCommand,
    policy: async () => (await import('./commands/policy.ts')).policyCommand,
    signature: async () => (await import('./commands/signature.ts')).signatureCommand,
  }),
);

/** The command that the first argument names, else every command. */
export async function commandsFor([first = '']: readonly string[]): Promise<readonly MakeCommand[]> {
  const named = COMMANDS.get(first);
  return Promise.all((named === undefined ? [...COMMANDS.values()] : [named]).map((load) => load()));
}
