import * as z from 'zod';
import { scope } from './units.ts';

const stdioUpstream = z.strictObject({
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  cwd: z.string().optional(),
});
const httpUpstream = z.strictObject({
  type: z.enum(['http', 'streamable-http']).optional(),
  url: z.url(),
  headers: z.record(z.string(), z.string()).default({}),
});

const tool = z.strictObject({
  /** Scopes that an access token needs for calls of the tool, beside those of the gateway. */
  scopes: z.array(scope).default([]),
});

/** What the configuration says of upstream servers and of their tools. */
export const upstreamSettings = {
  /** Upstream MCP servers, in the form that MCP hosts use. The key becomes the prefix of the tool names. */
  mcpServers: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z0-9]([A-Za-z0-9-]|_(?!_)){0,31}$/, 'letters, digits, dash, single underscores; at most 32'),
      z.union([stdioUpstream, httpUpstream]),
    )
    .default({}),
  /** What an operator says of a tool, by its public name. */
  tools: z.record(z.string().min(1), tool).default({}),
  /**
   * For a tool, by its public name: the name, at the same upstream, of a read-only tool that says what became of an
   * execution whose answer was lost. It gets `{ "idempotency_key": … }`, and answers `{ "outcome": "done" | "never" }`.
   */
  outcomeProbes: z.record(z.string().min(1), z.string().min(1)).default({}),
};
