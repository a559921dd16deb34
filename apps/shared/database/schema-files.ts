import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A script that makes a part of the database's schema. */
export interface SchemaFile {
  readonly name: string;
  readonly script: string;
  /** SHA-256 of the file's bytes, in hex. */
  readonly checksum: string;
}

/** The migrations in `folder`, in Prisma's layout: `migrations/<name>/migration.sql`, in the order in which they are applied. */
export const readMigrations = (folder: string): SchemaFile[] =>
  namesIn(join(folder, 'migrations'))
    .filter((name) => existsSync(join(folder, 'migrations', name, 'migration.sql')))
    .map((name) => readSchemaFile(name, join(folder, 'migrations', name, 'migration.sql')));

/** The functions in `folder`: `functions/<schema>/<function>.sql`, each named `<schema>/<function>`. */
export const readFunctions = (folder: string): SchemaFile[] =>
  namesIn(join(folder, 'functions')).flatMap((schema) =>
    namesIn(join(folder, 'functions', schema))
      .filter((file) => file.endsWith('.sql'))
      .map((file) =>
        readSchemaFile(`${schema}/${file.slice(0, -'.sql'.length)}`, join(folder, 'functions', schema, file)),
      ),
  );

/** The script in `folder` that gives roles and rights: `rights.sql`. Empty where there is none. */
export function readRights(folder: string): SchemaFile[] {
  const path = join(folder, 'rights.sql');
  return existsSync(path) ? [readSchemaFile('rights', path)] : [];
}

const namesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder).sort() : []);

function readSchemaFile(name: string, path: string): SchemaFile {
  const bytes = readFileSync(path);
  return { name, script: bytes.toString('utf8'), checksum: createHash('sha256').update(bytes).digest('hex') };
}

/** Runs a script. Throws an error that names the script and the line in which the server saw the fault. */
export async function runScript(
  client: { query(text: string): Promise<unknown> },
  { script }: SchemaFile,
  title: string,
): Promise<void> {
  try {
    // Without values the whole script goes over in one message: bodies in $$ quotes need no splitting.
    await client.query(script);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`${title} failed${lineOf(script, error)}: ${message}`, { cause: error });
  }
}

function lineOf(script: string, error: unknown): string {
  const position = error instanceof Error && 'position' in error ? Number(error.position) : NaN;
  if (!(position > 0)) return '';
  return ` at line ${script.slice(0, position).split('\n').length}`;
}
