import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientBase } from 'pg';

export type Queries = Pick<ClientBase, 'query'>;

/** The file from which each function of the database was made. The rights have one more row. */
const RECORDS = `CREATE TABLE IF NOT EXISTS "_countersign_functions" (
  "name"       text PRIMARY KEY,
  "checksum"   text NOT NULL,
  "applied_at" timestamptz NOT NULL DEFAULT now()
)`;

/** A function that was dropped counts as not applied. */
const READ_RECORDS = `SELECT name, checksum FROM "_countersign_functions"
  WHERE name = 'rights' OR name IN (SELECT n.nspname || '/' || p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace)`;

const RECORD = `INSERT INTO "_countersign_functions" (name, checksum) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum, applied_at = excluded.applied_at`;

/** Statements that drop all functions with these names, and the triggers that call them. */
const REMOVALS = `
  WITH removed AS (SELECT p.oid FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname || '/' || p.proname = ANY ($1::text[]))
  SELECT 1 AS place, format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass) AS statement
    FROM pg_trigger t JOIN removed ON removed.oid = t.tgfoid WHERE NOT t.tgisinternal
  UNION ALL SELECT 2, format('DROP FUNCTION %s', oid::regprocedure) FROM removed
  ORDER BY place, statement`;

/** Roles or rights that are missing, for example after a restore into another server: a backup has neither. */
const MISSING_RIGHTS = `
  SELECT role FROM (VALUES ('countersign_enforcement', 'gateway'), ('countersign_pdp', 'pdp'), ('countersign_approvals', 'approvals'),
      ('countersign_auditor', 'gateway'), ('countersign_auditor', 'audit')) AS needed (role, schema)
    WHERE CASE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = role)
      THEN NOT has_schema_privilege(role, schema, 'USAGE') ELSE true END`;

export const readProgram = (folder: string): SchemaFile[] => [...readFunctions(folder), ...readRights(folder)];

/**
 * Names of the functions (and `rights`) in which the database differs from these files: missing, made from another file, or without a
 * file. Throws the server's error 42P01 where none was ever applied.
 */
export async function differingFunctions(database: Queries, files: readonly SchemaFile[]): Promise<string[]> {
  const { rows } = await database.query<{ name: string; checksum: string }>(READ_RECORDS);
  const applied = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  const known = new Set(files.map(({ name }) => name));
  return [
    ...files.filter(({ name, checksum }) => applied.get(name) !== checksum).map(({ name }) => name),
    ...[...applied.keys()].filter((name) => !known.has(name)),
  ];
}

/**
 * Makes the functions and rights of the database equal to these files, in one transaction, and returns the names that differed. A function
 * that differs is dropped with its triggers, and its file makes both again. Then all rights are granted again, because a new function has
 * none.
 *
 * Throws, with the database unchanged, when a file fails or does not make the function of its name, and when a view or a default depends
 * on a function that has to be dropped.
 */
export async function applyFunctions(client: ClientBase, files: readonly SchemaFile[]): Promise<string[]> {
  await client.query('BEGIN');
  try {
    await client.query(RECORDS);
    const differing = await differingFunctions(client, files);
    const changed = files.filter(({ name }) => differing.includes(name) && name !== 'rights');
    const rights = files.find(({ name }) => name === 'rights');
    if (differing.length > 0) {
      await remove(client, differing);
      // Functions call each other, so all are made first, and then again with checked bodies.
      for (const check of ['off', 'on']) {
        await client.query(`SET LOCAL check_function_bodies = ${check}`);
        for (const file of changed) await runScript(client, file, `function ${file.name}`);
      }
      for (const { name, checksum } of changed) await client.query(RECORD, [name, checksum]);
      await giveRights(client, rights);
      const [wrong] = await differingFunctions(client, files);
      if (wrong !== undefined) throw new Error(`the file of ${wrong} does not make the function of its name`);
    }
    await client.query('COMMIT');
    return differing;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function remove(client: ClientBase, names: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(REMOVALS, [names]);
  for (const { statement } of rows) await client.query(statement);
  await client.query('DELETE FROM "_countersign_functions" WHERE name = ANY ($1::text[])', [names]);
}

async function giveRights(client: ClientBase, rights: SchemaFile | undefined): Promise<void> {
  if (rights === undefined) return;
  await runScript(client, rights, 'rights.sql');
  await client.query(RECORD, [rights.name, rights.checksum]);
}

/** Grants missing roles and rights again, and returns whether any were missing. */
export async function renewRights(client: ClientBase, files: readonly SchemaFile[]): Promise<boolean> {
  const rights = files.find(({ name }) => name === 'rights');
  if (rights === undefined || !(await lacksRights(client, files))) return false;
  await client.query(`BEGIN; ${rights.script}; COMMIT`);
  return true;
}

/** Names for a message whose length does not grow with their number. */
export const inBrief = ([first = '', ...others]: readonly string[]): string =>
  others.length === 0 ? first : `${first} and ${others.length} more`;

export async function lacksRights(client: Queries, files: readonly SchemaFile[]): Promise<boolean> {
  if (!files.some(({ name }) => name === 'rights')) return false;
  return ((await client.query(MISSING_RIGHTS)).rowCount ?? 0) > 0;
}

export interface SchemaFile {
  readonly name: string;
  readonly script: string;
  /** SHA-256 of the file's bytes, in hex. */
  readonly checksum: string;
}

/** The migrations in `folder`, in Prisma's layout (`migrations/<name>/migration.sql`), in order. */
export const readMigrations = (folder: string): SchemaFile[] =>
  filesBelow(join(folder, 'migrations'), '/migration.sql');

/** The functions in `folder`: `functions/<schema>/<function>.sql`. */
export const readFunctions = (folder: string): SchemaFile[] => filesBelow(join(folder, 'functions'), '.sql');

function readRights(folder: string): SchemaFile[] {
  const path = join(folder, 'rights.sql');
  return existsSync(path) ? [readSchemaFile('rights', path)] : [];
}

/** The files whose path ends like this, sorted, each named by the rest of its path. */
function filesBelow(folder: string, ending: string): SchemaFile[] {
  const paths = existsSync(folder) ? readdirSync(folder, { encoding: 'utf8', recursive: true }) : [];
  return paths
    .filter((path) => path.endsWith(ending))
    .sort()
    .map((path) => readSchemaFile(path.slice(0, -ending.length), join(folder, path)));
}

function readSchemaFile(name: string, path: string): SchemaFile {
  const bytes = readFileSync(path);
  return { name, script: bytes.toString('utf8'), checksum: createHash('sha256').update(bytes).digest('hex') };
}

/** Runs a script. Throws an error that names the script and the line of the fault. */
export async function runScript(
  client: { query(text: string): Promise<unknown> },
  { script }: SchemaFile,
  title: string,
): Promise<void> {
  try {
    // Without values, pg sends the whole script in one message, so bodies in $$ quotes need no splitting.
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
