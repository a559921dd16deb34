import { defineConfig } from 'prisma/config';

// `generate`, `validate` and `format` never run the schema engine, yet the CLI looks for one (and downloads it)
// before it does anything. Any existing file satisfies the look-up.
if (['generate', 'validate', 'format'].includes(process.argv[2] ?? '')) {
  process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;
}

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? 'postgresql://countersign@127.0.0.1:5432/countersign' },
});
